# SPDX-License-Identifier: Apache-2.0
"""Order and places along an axis in PyTorch, the peer of bench/order: binary32, one thread.

    python3 bench/peers/order.py

Prints bench/order's rows, the median of 11 calls in milliseconds of the process."""
import statistics
import time

import torch

ROUNDS, SIDE, LINE = 11, 1024, 1000000


def milliseconds(call):
    took = []
    for _ in range(ROUNDS + 2):
        start = time.process_time()
        call()
        took.append(time.process_time() - start)
    return statistics.median(took[2:]) * 1e3


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    x, v = torch.randn(SIDE, SIDE), torch.randn(LINE)
    i, j = torch.randint(0, SIDE, (SIDE, SIDE)), torch.randint(0, LINE, (LINE,))
    ordered = torch.sort(v).values
    rows = (
        ("sort, 1024 lines of 1024", lambda: torch.sort(x, dim=-1, stable=True)),
        ("sort, a line of 1e6", lambda: torch.sort(v, stable=True)),
        ("topk 10, 1024 lines of 1024", lambda: torch.topk(x, 10)),
        ("topk 100, 1024 lines of 1024", lambda: torch.topk(x, 100)),
        ("topk 1000, a line of 1e6", lambda: torch.topk(v, 1000)),
        ("take_along rows", lambda: torch.gather(x, 1, i)),
        ("take_along columns", lambda: torch.gather(x, 0, i)),
        ("take_along, a line of 1e6", lambda: torch.gather(v, 0, j)),
        ("scatter_along rows, set", lambda: x.scatter(1, i, x)),
        ("scatter_along rows, add", lambda: x.scatter_add(1, i, x)),
        ("scatter_along columns, add", lambda: x.scatter_add(0, i, x)),
        ("scatter_along, a line of 1e6, add", lambda: v.scatter_add(0, j, v)),
        ("scatter_along rows, maximum", lambda: x.scatter_reduce(1, i, x, "amax")),
        ("searchsorted, 1e6 in 1e6", lambda: torch.searchsorted(ordered, v)),
    )
    for name, call in rows:
        print("%-34s %9.3f ms" % (name, milliseconds(call)), flush=True)


main()
