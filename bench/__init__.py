"""Every number we claim, reproducible with one command: `python -m bench`."""

import os

# What the server does for itself before numpy loads: small products are slower when spread over cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
