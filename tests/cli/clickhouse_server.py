"""A stand-in for ClickHouse's HTTP interface: it keeps rows in memory and understands the statements that `kubetape push` uses,
tokens included. Where the package chdb is installed, the engine itself can stand behind it (`engine=Chdb`).

    with ClickHouse() as server:
        run("push", tape, server.url)
        server.rows("events")        # dicts, as a query with FINAL sees them
        server.refuse = [(503, "")]  # the next requests are answered so
        server.kill_after(3, lambda: process)
"""
import http.server
import json
import os
import re
import shutil
import struct
import subprocess
import tempfile
import threading
import urllib.parse

try:
    from chdb import session as chdb_session
except ImportError:
    chdb_session = None


class Refused(Exception):
    def __init__(self, status, text):
        super().__init__(text)
        self.status, self.text = status, text


def column_types(columns):
    """[(name, type)] of what stands in the brackets of CREATE TABLE."""
    parts = re.split(r",\s*(?![^()]*\))", re.sub(r" CODEC\(ZSTD\(\d\)\)", "", columns))
    return [tuple(part.split(" ", 1)) for part in parts]


class Reader:
    """Values of a row in RowBinary."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        self.at += count
        if self.at > len(self.data):
            raise Refused(400, "Code: 33. DB::Exception: Cannot read all data. (CANNOT_READ_ALL_DATA)")
        return self.data[self.at - count:self.at]

    def varint(self):
        number = shift = 0
        while True:
            byte = self.take(1)[0]
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    def value(self, kind):
        if kind.startswith("Nullable("):
            return None if self.take(1) == b"\1" else self.value(kind[9:-1])
        if kind.startswith("DateTime64(9"):
            return struct.unpack("<q", self.take(8))[0]
        if kind == "Int64":
            return struct.unpack("<q", self.take(8))[0]
        if kind.startswith("UInt"):
            return int.from_bytes(self.take(int(kind[4:]) // 8), "little")
        return self.take(self.varint()).decode()


class Rows:
    """Rows in lists."""

    def __init__(self):
        self.tables, self.tokens = {}, set()

    def ask(self, sql):
        made = re.match(r"CREATE TABLE IF NOT EXISTS (\w+) \((.*)\) ENGINE = ReplacingMergeTree(?:\(\w+\))? ORDER BY \((.*?)\) SETTINGS ", sql)
        if made:
            self.tables.setdefault(made[1], {"columns": column_types(made[2]), "key": made[3].split(", "), "rows": []})
            return ""
        counted = re.fullmatch(r"SELECT count\(\) FROM (\w+) WHERE cluster = '.*' AND tape = '(\w+)'(?: AND segment = (\d+))? FORMAT TabSeparatedWithNames", sql)
        if counted:
            rows = [r for r in self.all_rows(counted[1]) if r["tape"] == counted[2]]
            return f"count()\n{sum(not counted[3] or r['segment'] == int(counted[3]) for r in rows)}\n"
        asked = re.fullmatch(r"SELECT (\w+[\w, ]*) FROM (\w+) FINAL WHERE cluster = '(.*)' AND tape = '(\w+)' "
                             r"ORDER BY (\w+) FORMAT TabSeparatedWithNames", sql)
        assert asked, sql
        cluster = re.sub(r"\\(.)", r"\1", asked[3])
        found = [r for r in self.rows(asked[2]) if (r["cluster"], r["tape"]) == (cluster, asked[4])]
        names = asked[1].split(", ")
        return "\t".join(names) + "\n" + "".join("\t".join(str(r[c]) for c in names) + "\n" for r in sorted(found, key=lambda r: r[asked[5]]))

    def table(self, name):
        if name not in self.tables:
            raise Refused(404, f"Code: 60. DB::Exception: Table tapes.{name} does not exist. (UNKNOWN_TABLE) (version 26.9)")
        return self.tables[name]

    def insert(self, name, data, token):
        table, reader, rows = self.table(name), Reader(data), []
        kinds = dict(table["columns"])
        columns = [reader.value("String") for _ in range(reader.varint())]
        for column in columns:
            given = reader.value("String")
            if given != kinds[column]:
                raise Refused(400, f"Code: 117. DB::Exception: Type of '{column}' must be {kinds[column]}, not {given}. (INCORRECT_DATA)")
        while reader.at < len(data):
            row = {column: reader.value(re.sub(r"^LowCardinality\((.*)\)$", r"\1", kinds[column])) for column in columns}
            rows.append({column: row.get(column) for column in kinds})
        if token not in self.tokens:
            table["rows"] += rows
        self.tokens.add(token)

    def all_rows(self, name):
        return self.table(name)["rows"]

    def rows(self, name):
        table = self.table(name)
        return list({tuple(r[k] for k in table["key"]): r for r in table["rows"]}.values())

    def close(self):
        pass


class Chdb:
    """The engine. It has no HTTP, and so no tokens by parameter: they are given as settings of the statement."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="kubetape-chdb-")
        self.session = chdb_session.Session(self.folder)
        self.query("CREATE DATABASE IF NOT EXISTS tapes ENGINE = Atomic")
        self.query("USE tapes")

    def query(self, sql):
        try:
            return self.session.query(sql).bytes().decode()
        except Exception as err:  # chdb has no class of its own for them
            text = str(err)
            raise Refused(404 if "UNKNOWN_TABLE" in text else 500, text[max(text.find("Code:"), 0):]) from None

    def ask(self, sql):
        return self.query(sql)

    def insert(self, name, data, token):
        columns = [line.split("\t")[:2] for line in self.query(f"DESCRIBE TABLE {name} FORMAT TabSeparatedRaw").splitlines()]
        structure = ", ".join(f"`{column}` {kind}" for column, kind in columns).replace("'", "\\'")
        path = os.path.join(self.folder, "rows")
        with open(path, "wb") as file:
            file.write(data)
        self.query(f"INSERT INTO {name} SETTINGS insert_deduplication_token = '{token}', async_insert = 0 "
                   f"SELECT * FROM file('{path}', RowBinaryWithNamesAndTypes, '{structure}')")

    def all_rows(self, name, final=""):
        names = [line.split("\t")[:2] for line in self.query(f"DESCRIBE TABLE {name} FORMAT TabSeparatedRaw").splitlines()]
        columns = ", ".join(f"toUnixTimestamp64Nano({n}) AS {n}" if "DateTime64" in kind else n for n, kind in names)
        text = self.query(f"SELECT {columns} FROM {name} {final} FORMAT JSONEachRow SETTINGS output_format_json_quote_64bit_integers = 0")
        return [json.loads(line) for line in text.splitlines()]

    def rows(self, name):
        return self.all_rows(name, "FINAL")

    def close(self):
        self.session.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        query = dict(urllib.parse.parse_qsl(self.path.partition("?")[2]))
        try:
            status, text = 200, self.server.owner.serve(query, self.headers, body)
        except Refused as err:
            status, text = err.status, err.text
        try:
            self.send_response(status)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())
        except OSError:  # the client is dead
            self.close_connection = True


class ClickHouse:
    def __init__(self, engine=Rows, user="writer", key="a secret"):
        self.engine, self.user, self.key = engine(), user, key
        self.requests, self.refuse, self.victim = [], [], None
        self.lock = threading.Lock()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.owner = self
        self.url = f"clickhouse+http://{user}@127.0.0.1:{self.server.server_port}/tapes"
        self.env = {"CLICKHOUSE_PASSWORD": key}

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.engine.close()

    def kill_after(self, number, process):
        """SIGKILL when that request (from 0, of those to come) was carried out, before it is answered."""
        self.victim = [number, process]

    def kill_if_due(self):
        if not self.victim:
            return
        self.victim[0] -= 1
        if self.victim[0] >= 0:
            return
        self.victim[1]().kill()
        self.victim[1]().wait()
        self.victim = None

    def serve(self, query, headers, body):
        with self.lock:
            if (headers["X-ClickHouse-User"], headers["X-ClickHouse-Key"]) != (self.user, self.key):
                raise Refused(403, "Code: 516. DB::Exception: writer: Authentication failed: password is incorrect. (AUTHENTICATION_FAILED)\nmore")
            assert query["database"] == "tapes", query
            if self.refuse:
                raise Refused(*self.refuse.pop(0))
            try:
                return self.carry_out(query, headers, body)
            finally:
                self.kill_if_due()

    def carry_out(self, query, headers, body):
        if "query" not in query:
            self.requests.append(body.decode())
            return self.engine.ask(body.decode().rstrip("\0"))
        self.requests.append(query["query"])
        assert headers["Content-Encoding"] == "zstd"
        table = re.fullmatch(r"INSERT INTO (\w+) FORMAT RowBinaryWithNamesAndTypes", query["query"])[1]
        data = subprocess.run(["zstd", "-dc"], input=body, capture_output=True, check=True).stdout
        self.engine.insert(table, data, query["insert_deduplication_token"])
        return ""

    def rows(self, table):
        return self.engine.rows(table)
