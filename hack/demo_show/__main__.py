import sys

from demo_show.main import main

if __name__ == "__main__":
    sys.exit(main())
