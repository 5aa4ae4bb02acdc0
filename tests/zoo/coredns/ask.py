"""Which addresses the CoreDNS beside this replay has for names: ask.py NAME..., all below cluster.local."""

import json
import os
import socket
import struct
import sys
import urllib.parse

RECURSION_DESIRED, A, IN = 0x0100, 1, 1


def ask(port, name):
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"
    question = labels + struct.pack(">2H", A, IN)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(5)
        s.sendto(struct.pack(">6H", os.getpid() % 65536, RECURSION_DESIRED, 1, 0, 0, 0) + question, ("127.0.0.2", port))
        answer = s.recv(4096)
    return struct.unpack(">6H", answer[:12])[3], answer[12 + len(question):]


def end_of_name(answers, at):
    while answers[at] and answers[at] < 0xC0:
        at += 1 + answers[at]
    return at + (2 if answers[at] else 1)


def addresses(count, answers):
    at = 0
    for _ in range(count):
        at = end_of_name(answers, at) + 10
        yield socket.inet_ntoa(answers[at:at + 4])
        at += 4


with open(os.environ["KUBECONFIG"]) as f:
    server = urllib.parse.urlsplit(json.load(f)["clusters"][0]["cluster"]["server"])
for name in sys.argv[1:]:
    print(name, *(sorted(addresses(*ask(server.port, f"{name}.cluster.local"))) or ["is not there"]))
