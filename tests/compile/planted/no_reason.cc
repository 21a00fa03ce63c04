int main() {
#ifdef TUTTI_MUST_NOT_COMPILE
  return missing;
#endif
}
