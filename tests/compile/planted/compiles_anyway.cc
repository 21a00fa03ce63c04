// Refused: anything
int main() { return 0; }
