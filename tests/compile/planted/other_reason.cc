// Refused: ignoring return(ed)? value
int main() {
#ifdef TUTTI_MUST_NOT_COMPILE
  return missing;
#endif
}
