import sys

if __name__ == "__main__":
    try:
        from demo_show.main import main

        sys.exit(main())
    except KeyboardInterrupt:  # during the imports
        sys.exit(130)
