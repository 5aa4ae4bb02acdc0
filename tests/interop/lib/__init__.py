"""What the real-world tests share: a cluster, its programs, tapes and clients. Python standard library only."""
