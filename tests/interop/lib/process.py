"""Child processes that are known by pid *and* start time, so that a recycled pid is never signalled."""

import os
import signal
import subprocess
import time

from lib import wait


def start_time(pid):
	"""The start time of a live process in clock ticks since boot, None when it is gone or a zombie."""
	try:
		with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
			fields = f.read().rsplit(")", 1)[1].split()
	except OSError:
		return None
	return None if fields[0] in "ZX" else int(fields[19])


def resident_mb(pid):
	"""Resident memory of a process in MB, 0 when it is gone."""
	try:
		with open(f"/proc/{pid}/status", encoding="utf-8") as f:
			for line in f:
				if line.startswith("VmRSS:"):
					return int(line.split()[1]) >> 10
	except OSError:
		pass
	return 0


def spawn_detached(args, log, env=None):
	"""Start a process in a session of its own, output to a log file; returns its record {pid, start}."""
	with open(log, "ab") as out:
		child = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=env,
			start_new_session=True)
	return {"pid": child.pid, "start": start_time(child.pid)}


def alive(record):
	_reap(record["pid"])
	return record["start"] is not None and start_time(record["pid"]) == record["start"]


def _reap(pid):
	"""Collect an ended child; one that an earlier invocation started is not ours to collect."""
	try:
		os.waitpid(pid, os.WNOHANG)
	except ChildProcessError:
		pass


def stop(record, grace_s=10.0, sig=signal.SIGTERM):
	"""Signal a process, wait for it to be gone, SIGKILL after the grace time. Returns the seconds it took."""
	began = time.monotonic()
	for use, patience in ((sig, grace_s), (signal.SIGKILL, wait.PATIENCE_S)):
		if not alive(record):
			break
		try:
			os.kill(record["pid"], use)
			wait.until(f"end of process {record['pid']}", lambda: not alive(record), patience, 0.02)
		except ProcessLookupError:
			break
		except wait.Timeout:
			if use == signal.SIGKILL:
				raise
	return time.monotonic() - began


def tail(path, lines=15):
	try:
		with open(path, encoding="utf-8", errors="replace") as f:
			return "".join(f.readlines()[-lines:])
	except OSError:
		return ""
