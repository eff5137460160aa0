"""`python -m purefit` is the command `purefit`."""

from purefit.cli import main

raise SystemExit(main())
