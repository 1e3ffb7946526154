# SPDX-License-Identifier: MIT
"""A TCP port for a server that is ended and started again."""
import random
import socket


def free_port():
    """A port that the kernel gives to no process unless it requests this number: a killed relay can use it again."""
    while True:
        port = random.randrange(10000, 30000)
        try:
            socket.create_server(("127.0.0.1", port)).close()
            return port
        except OSError:
            pass
