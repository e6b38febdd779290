import sys

from local_cluster.main import main

if __name__ == "__main__":
    sys.exit(main())
