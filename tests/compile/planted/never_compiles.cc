// Refused: was not declared|undeclared identifier
int main() { return missing; }
