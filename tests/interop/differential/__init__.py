"""The differential test: the same requests to a live kube-apiserver and to a replay of its recording at the same
position; every difference must be one of the accepted ones."""
