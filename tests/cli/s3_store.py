"""A scripted S3 store for tests: path-style buckets in memory, signatures (SigV4) and sums of bodies checked, conditions, parts,
lists by pages; and faults, each for the next request that matches:

    store = S3Store()
    with store:
        store.fail("PUT", "seg-", "SlowDown", times=3)
        store.fail("PUT", "seg-", "cut")           # half of the body is read, then the connection is reset
        run("push", tape, "s3://tapes/x", env=store.env)
        store.objects["x/..."].body

Every request is in store.requests as (method, key, query).
"""
import collections
import datetime
import email.utils
import hashlib
import hmac
import http.server
import re
import socket
import struct
import threading
import urllib.parse
from xml.sax.saxutils import escape

KEY_ID, SECRET, TOKEN = "AKIDTEST", "secret/of+the=test", "session-token"
PAGE = 3  # entries in a page of a list: tests see several
CODES = {"SlowDown": 503, "InternalError": 500, "RequestTimeTooSkewed": 403, "AccessDenied": 403, "NoSuchBucket": 404,
         "NoSuchKey": 404, "PreconditionFailed": 412, "SignatureDoesNotMatch": 403, "InvalidAccessKeyId": 403, "ExpiredToken": 400,
         "BadDigest": 400, "NoSuchUpload": 404, "XAdminUserNotFound": 404, "InvalidRange": 416, "AuthorizationHeaderMalformed": 400, "ConditionalRequestConflict": 409}


class StoredObject:
    def __init__(self, body, sha256=""):
        self.body, self.sha256 = body, sha256
        self.etag = '"' + hashlib.md5(body).hexdigest() + '"'


class Refused(Exception):
    def __init__(self, code, message="as the test wants it", more=""):
        super().__init__(code)
        self.code, self.message, self.more = code, message, more


def sign(secret, date, region, text):
    key = ("AWS4" + secret).encode()
    for part in (date, region, "s3", "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    @property
    def store(self):
        return self.server.store

    def read_body(self):
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def cut(self):
        """Takes half of the body, and resets the connection."""
        self.rfile.read(int(self.headers.get("Content-Length", 0)) // 2)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def answer(self, status, body=b"", headers=(), cut_at=None):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[:cut_at])
        if cut_at is not None:
            self.close_connection = True

    def check_signature(self, path, query, body):
        given = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, ?SignedHeaders=([^,]+), ?Signature=(\w+)",
                             self.headers.get("Authorization", ""))
        if not given:
            raise Refused("AccessDenied", "no signature")
        key_id, date, region, names, signature = given.groups()
        if key_id != self.store.key_id:
            raise Refused("InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.")
        if region != self.store.region:
            raise Refused("AuthorizationHeaderMalformed", "the region is wrong", f"<Region>{self.store.region}</Region>")
        for name in self.headers:
            if name.lower().startswith("x-amz-") and name.lower() not in names.split(";"):
                raise Refused("AccessDenied", f"header {name} is not signed")
        total = self.headers["x-amz-content-sha256"]
        canonical = "\n".join([self.command, path, query,
                               *(f"{n}:{' '.join(self.headers[n].split())}" for n in names.split(";")), "", names, total])
        when = self.headers["x-amz-date"]
        text = "\n".join(["AWS4-HMAC-SHA256", when, f"{date}/{region}/s3/aws4_request", hashlib.sha256(canonical.encode()).hexdigest()])
        if sign(self.store.secret, date, region, text) != signature:
            raise Refused("SignatureDoesNotMatch", "The request signature we calculated does not match.")
        moment = datetime.datetime.strptime(when, "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.timezone.utc)
        if abs((moment - self.store.now()).total_seconds()) > 900:
            raise Refused("RequestTimeTooSkewed", "The difference between the request time and the server's time is too large.")
        if self.store.token and self.headers.get("x-amz-security-token") != self.store.token:
            raise Refused("ExpiredToken", "The provided token has expired.")
        if hashlib.sha256(body).hexdigest() != total:
            raise Refused("BadDigest", "the body is not what its sum says")

    def handle_request(self):
        path, _, query = self.path.partition("?")
        bucket, _, key = urllib.parse.unquote(path[1:]).partition("/")
        values = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        with self.store.lock:
            self.store.requests.append((self.command, key, values))
            fault = self.store.take_fault(self.command, key)
        if fault == "cut":
            self.cut()
            return
        body = self.read_body()
        try:
            if fault == "vanish":
                self.store.bucket = None
            elif fault == "half":
                with self.store.lock:
                    self.store.objects[key] = StoredObject(body[: len(body) // 2], "half")
                raise Refused("InternalError")
            elif fault in ("lost answer", "cut answer"):
                pass
            elif callable(fault):
                fault()
            elif fault:
                raise Refused(fault)
            self.check_signature(path, query, body)
            if bucket != self.store.bucket:
                raise Refused("NoSuchBucket", "The specified bucket does not exist")
            with self.store.lock:
                status, answer, headers = self.dispatch(key, values, body)
        except Refused as e:
            text = f"<?xml version=\"1.0\"?>\n<Error><Code>{e.code}</Code><Message>{escape(e.message)}</Message>{e.more}</Error>"
            status, answer, headers = CODES[e.code], text.encode(), [("Content-Type", "application/xml")]
        if fault == "lost answer":
            self.connection.close()
            self.close_connection = True
            return
        self.answer(status, answer, headers, len(answer) // 2 if fault == "cut answer" else None)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_request

    def date_time_string(self, timestamp=None):
        return email.utils.format_datetime(self.store.now(), usegmt=True)

    def dispatch(self, key, values, body):
        if self.command == "PUT":
            return self.put_part(values, body) if "uploadId" in values else self.put(key, body)
        if self.command == "POST":
            return self.complete(key, values, body) if "uploadId" in values else self.begin(key)
        if self.command == "DELETE":
            return self.delete(key, values)
        if not key:
            return self.list_uploads(values) if "uploads" in values else self.list(values)
        return self.get(key)

    def check_conditions(self, key):
        there = self.store.objects.get(key)
        if self.headers.get("If-None-Match") == "*" and there:
            raise Refused("PreconditionFailed", "At least one of the pre-conditions you specified did not hold")
        wanted = self.headers.get("If-Match")
        if wanted and (not there or there.etag != wanted):
            raise Refused("PreconditionFailed", "At least one of the pre-conditions you specified did not hold")

    def put(self, key, body):
        self.check_conditions(key)
        self.store.objects[key] = StoredObject(body, self.headers.get("x-amz-meta-sha256", ""))
        return 200, b"", [("ETag", self.store.objects[key].etag)]

    def get(self, key):
        if key not in self.store.objects:
            raise Refused("NoSuchKey", "The specified key does not exist.")
        there = self.store.objects[key]
        headers = [("ETag", there.etag), *([("x-amz-meta-sha256", there.sha256)] if self.store.keeps_metadata else [])]
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if not wanted:
            return 200, there.body, headers
        self.store.ranges.append(wanted.groups())
        first, last = int(wanted[1]), min(int(wanted[2]), len(there.body) - 1)
        if first >= len(there.body):
            raise Refused("InvalidRange")
        return 206, there.body[first:last + 1], [*headers, ("Content-Range", f"bytes {first}-{last}/{len(there.body)}")]

    def list(self, values):
        prefix, delimiter = values.get("prefix", ""), values.get("delimiter")
        entries = {}
        for key in self.store.objects:
            if key.startswith(prefix):
                cut = key.find(delimiter, len(prefix)) if delimiter else -1
                entries[key if cut < 0 else key[:cut + 1]] = cut >= 0
        names = sorted(n for n in entries if n > values.get("continuation-token", ""))
        text = "".join(f"<CommonPrefixes><Prefix>{escape(n)}</Prefix></CommonPrefixes>" if entries[n] else
                       f"<Contents><Key>{escape(n)}</Key><Size>{len(self.store.objects[n].body)}</Size>"
                       f"<ETag>{escape(self.store.objects[n].etag)}</ETag></Contents>" for n in names[:PAGE])
        text += f"<IsTruncated>{str(len(names) > PAGE).lower()}</IsTruncated>"
        if len(names) > PAGE:
            text += f"<NextContinuationToken>{escape(names[PAGE - 1])}</NextContinuationToken>"
        return 200, (self.store.page or f'<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{text}</ListBucketResult>').encode(), []

    def begin(self, key):
        upload = f"upload-{len(self.store.requests)}"
        self.store.uploads[upload] = (key, {}, self.headers.get("x-amz-meta-sha256", ""))
        return 200, f"<InitiateMultipartUploadResult><UploadId>{upload}</UploadId></InitiateMultipartUploadResult>".encode(), []

    def upload(self, values):
        if values["uploadId"] not in self.store.uploads:
            raise Refused("NoSuchUpload")
        return self.store.uploads[values["uploadId"]]

    def put_part(self, values, body):
        self.upload(values)[1][int(values["partNumber"])] = body
        return 200, b"", [("ETag", '"' + hashlib.md5(body).hexdigest() + '"')]

    def complete(self, key, values, body):
        self.check_conditions(key)
        _, parts, sha256 = self.upload(values)
        if self.store.late_errors:
            self.store.late_errors -= 1
            return 200, b"<?xml version=\"1.0\"?>\n<Error><Code>InternalError</Code></Error>", []
        if self.store.forgets:
            self.store.forgets -= 1
            return 200, b"<CompleteMultipartUploadResult/>", []
        listed = [int(n) for n in re.findall(rb"<PartNumber>(\d+)<", body)]
        self.store.objects[key] = StoredObject(b"".join(parts[n] for n in listed), sha256)
        del self.store.uploads[values["uploadId"]]
        if self.store.ends_unheard:
            raise Refused("NoSuchUpload")
        return 200, b"<CompleteMultipartUploadResult/>", []

    def delete(self, key, values):
        if "uploadId" in values:
            self.store.uploads.pop(values["uploadId"], None)
        else:
            self.store.objects.pop(key, None)
        return 204, b"", []

    def list_uploads(self, values):
        text = "".join(f"<Upload><Key>{escape(k)}</Key><UploadId>{u}</UploadId></Upload>"
                       for u, (k, _, _) in self.store.uploads.items() if k.startswith(values.get("prefix", "")))
        return 200, f"<ListMultipartUploadsResult>{text}</ListMultipartUploadsResult>".encode(), []


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """Clients are killed and cut off all the time here."""


Answer = collections.namedtuple("Answer", "status text")


class Answers:
    """A server that gives fixed answers to (method, path), texts, Answers or functions that give one: what credentials are fetched
    from. Anything else is refused."""

    def __init__(self, answers):
        self.seen, self.bodies = [], []
        outer = self

        class Fixed(http.server.BaseHTTPRequestHandler):
            def log_message(self, *arguments):
                pass

            def give(self):
                outer.bodies.append(self.rfile.read(int(self.headers.get("Content-Length", 0))).decode())
                outer.seen.append((self.command, self.path, self.headers))
                text = answers.get((self.command, self.path))
                text = text() if callable(text) else text
                answer = text if isinstance(text, Answer) else Answer(403, "<E><Code>InvalidIdentityToken</Code></E>") if text is None else Answer(200, text)
                self.send_response(answer.status)
                self.end_headers()
                self.wfile.write(answer.text.encode())

            do_GET = do_PUT = do_POST = give

        self.server = Server(("127.0.0.1", 0), Fixed)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=[0.01], daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class S3Store:
    def __init__(self, bucket="tapes"):
        self.bucket, self.region = bucket, "us-east-1"
        self.key_id, self.secret, self.token = KEY_ID, SECRET, None
        self.objects, self.uploads, self.requests, self.faults, self.ranges = {}, {}, [], [], []
        self.ahead_s = 0
        self.lock = threading.RLock()
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.store = self
        self.endpoint = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=[0.01], daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    @property
    def env(self):
        """For a program that is to use this store, and nothing of the machine's own."""
        return {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_ENDPOINT_URL": self.endpoint,
                "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/nonexistent", "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent"}

    def now(self):
        return datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=self.ahead_s)

    late_errors = 0  # so many uploads meet an error that comes after the status of a success
    keeps_metadata = True
    page = None  # what answers each list
    ends_unheard = False  # a request that ends an upload does so, and is answered NoSuchUpload, as its repetition would be
    forgets = 0  # so many uploads are said to be done and are not

    def fail(self, method, part, what, times=1):
        """The next requests of that method whose key has that part: a code of an error, "cut", "half" (the store keeps half of the
        object), "lost answer" (it is done, and nobody hears of it), "cut answer", "vanish" (of the bucket), or a function to call first."""
        with self.lock:
            self.faults += [(method, part, what)] * times

    def take_fault(self, method, key):
        for i, (m, part, what) in enumerate(self.faults):
            if m == method and part in key:
                del self.faults[i]
                return what
        return None

    def keys(self, part=""):
        with self.lock:
            return sorted(k for k in self.objects if part in k)

    def count(self, method, part=""):
        with self.lock:
            return sum(1 for m, k, _ in self.requests if m == method and part in k)
