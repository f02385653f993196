"""Workers on several hosts: network namespaces with addresses of their own, one of which is unplugged in the middle.

python tests/long/cluster_hosts.py        (as root, with the command `ip`)
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))
from machines import Machines
from small import small_file, train

from lveg.cluster import connected
from lveg.model_io import model_fingerprint
from lveg.report import silent
from lveg.training import Setting

BRIDGE, NETWORK, HOSTS = "lveg0", "10.77.91", ("lveg1", "lveg2")
OPTIONS: dict[str, Any] = {
    "model": "gm", "context": "none", "components": 2, "dim": 2, "batch": 66, "epochs": 12, "held_out": 0.0
}  # fmt: skip


def ip(command: str) -> None:
    """Run `ip` with some arguments."""
    subprocess.run(["ip", *command.split()], check=True)


def plug(stack: ExitStack) -> None:
    """Create a network of hosts, which is removed at the end."""
    ip(f"link add {BRIDGE} type bridge")
    stack.callback(ip, f"link delete {BRIDGE}")
    ip(f"address add {NETWORK}.1/24 dev {BRIDGE}")
    ip(f"link set {BRIDGE} up")
    for number, host in enumerate(HOSTS, start=2):
        ip(f"netns add {host}")
        stack.callback(ip, f"netns delete {host}")
        ip(f"link add {host}v type veth peer name eth0 netns {host}")
        ip(f"link set {host}v master {BRIDGE} up")
        ip(f"-n {host} address add {NETWORK}.{number}/24 dev eth0")
        ip(f"-n {host} link set eth0 up")
        ip(f"-n {host} link set lo up")


def main() -> None:
    """Train on two hosts, unplug one, and compare with threads."""
    with TemporaryDirectory() as folder, ExitStack() as stack:
        path = str(small_file(Path(folder), "parser", 66))
        here = model_fingerprint(train("parser", path, setting=Setting(report=silent), **OPTIONS))
        plug(stack)
        machines = stack.enter_context(Machines(0, host=f"{NETWORK}.1"))
        for host in HOSTS:
            machines.add(["ip", "netns", "exec", host])
        cluster = stack.enter_context(connected(machines.address))
        cluster._client.wait_for_workers(len(HOSTS))
        print("workers at", *sorted(cluster._client.nthreads()), flush=True)

        def report(event: str, facts: dict[str, Any]) -> None:
            if event == "epoch" and facts["epoch"] == 4:
                machines.kill(machines.workers[0])
                ip(f"link set {HOSTS[0]}v down")
                print("unplugged", HOSTS[0], flush=True)

        there = model_fingerprint(train("parser", path, setting=Setting(report=report, workers=cluster), **OPTIONS))
    print("the same model" if here == there else f"DIFFERENT: {here} {there}")
    sys.exit(here != there)


if __name__ == "__main__":
    main()
