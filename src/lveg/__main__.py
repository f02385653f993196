"""`python -m lveg`: the command line."""

from lveg.cli import main

if __name__ == "__main__":
    main()
