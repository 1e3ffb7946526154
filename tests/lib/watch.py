# SPDX-License-Identifier: MIT
"""The resources of a process over its life: its own memory, descriptors, processor time, sampled again and again."""
import os
import threading
import time

import proc


class Watch(threading.Thread):
    """@leave_out: descriptors of files below it, or of targets that /proc names so, are not counted."""

    def __init__(self, pid, every_s, leave_out=None):
        super().__init__(daemon=True)
        self.pid, self.every_s, self.leave_out = pid, every_s, leave_out
        self.fds, self.kib, self.cpu = [], [], 0.0
        self.look()
        self.start()

    def look(self):
        """-> whether it is there"""
        kib, fds, ticks = proc.field(self.pid, "RssAnon"), proc.fds(self.pid), proc.cpu_ticks(self.pid)
        if kib is None or ticks is None:
            return False
        self.kib.append(kib)
        self.fds.append(sum(not (self.leave_out and f.startswith(self.leave_out)) for f in fds))
        self.cpu = ticks / os.sysconf("SC_CLK_TCK")
        return True

    def run(self):
        while self.look():
            time.sleep(self.every_s)

    @staticmethod
    def growth(values):
        """-> how much more there is at the end than ever was in the first fifth"""
        return values[-1] - max(values[:max(1, len(values) // 5)])
