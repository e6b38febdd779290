import sys

if __name__ == "__main__":
    try:
        from demo_show.main import main

        sys.exit(main())
    except KeyboardInterrupt:  # while it was still loading
        sys.exit(130)
