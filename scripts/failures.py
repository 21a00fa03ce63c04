"""Says again, behind ctest's summary, how each test that failed ended: its own words are far above.

usage: failures.py RESULTS   (the file that ctest --output-junit has written)
"""
import sys
from xml.etree import ElementTree

LINES = 40  # of each


def main():
    failed = [case for case in ElementTree.parse(sys.argv[1]).iter("testcase")
              if case.find("failure") is not None]
    for case in failed:
        lines = (case.findtext("system-out") or "").splitlines()
        print(f"\n== {case.get('name')} failed; its last words:")
        print("\n".join(lines[-LINES:]))


if __name__ == "__main__":
    main()
