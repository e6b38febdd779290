import sys

if __name__ == "__main__":
    try:
        from bench_run.main import main

        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
