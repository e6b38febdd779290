import sys

from release_build.main import main

sys.exit(main())
