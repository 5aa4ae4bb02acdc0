"""A witness that knows nothing of kubetape: a proxy that ends TLS on both sides and keeps what passes in between, byte by byte. It speaks
no HTTP. Both sides agree on one protocol, HTTP/2 or HTTP/1.1, and say to each other what they would without it."""

import os
import ssl

from lib import proxy

PROTOCOLS = ["h2", "http/1.1"]


class Tapped(proxy.Link):
    """One connection. `said` has what each side sent, as it came; `ended_by` is the side that ended it, "" as long as neither has."""

    def __init__(self, client, target, frozen, tap):
        super().__init__(client, target, frozen)
        self._tap = tap
        self.protocol = self.ended_by = ""
        self.said = {"client": bytearray(), "server": bytearray()}

    @property
    def was_cut(self):
        return self._cut.is_set()

    def _begin(self):
        client, server = self._pair
        client = self._tap.to_clients.wrap_socket(client, server_side=True)
        self._pair = (client, server)
        self.protocol = client.selected_alpn_protocol() or ""
        self._pair = (client, self._tap.to_server(self.protocol).wrap_socket(server))

    def _forward(self):
        return all(self._pass_on(s) for s in self._readable())

    def _pass_on(self, s):
        """What there is, to the other side; False at the end."""
        is_client = s is self._pair[0]
        side = "client" if is_client else "server"
        try:
            while data := receive(s):
                self.said[side] += data
                self._pair[is_client].sendall(data)
        except OSError:
            self.ended_by = side
            raise
        if data is None:
            return True
        self.ended_by = side
        return False


def receive(s):
    """None where nothing is there yet: what makes a socket readable may be a record of TLS alone."""
    s.setblocking(False)
    try:
        return s.recv(1 << 16)
    except ssl.SSLWantReadError:
        return None
    finally:
        s.setblocking(True)


class Wiretap(proxy.Proxy):
    """Serves with the certificate of a cluster's API server, whose keys are in the folder `pki`."""

    def __init__(self, target_port, pki):
        self.connections = []
        self.to_clients = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.to_clients.load_cert_chain(os.path.join(pki, "server.crt"), os.path.join(pki, "server.key"))
        self.to_clients.set_alpn_protocols(PROTOCOLS)
        super().__init__(target_port)

    def to_server(self, protocol):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if protocol:
            context.set_alpn_protocols([protocol])
        return context

    def _link(self, client, target):
        made = Tapped(client, target, self._frozen, self)
        self.connections.append(made)
        return made
