/* peer.c: see peer.h. */
#include "replayer/wire/peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_BYTES 4096
#define ALL_STATES   0xffffffffu

/* The two ends of a TCP connection; IPv4 also where it stands in an IPv6 address. */
struct ends {
	int family;
	unsigned char from[16], to[16];
	in_port_t from_port, to_port; /* in network order */
};

struct question {
	struct nlmsghdr head;
	struct inet_diag_req_v2 body;
};

/* ---- the addresses ---- */

/* False for anything but IP. */
static bool take_address(
	const struct sockaddr_storage *address, int *ret_family, unsigned char to[16], in_port_t *ret_port)
{
	const struct sockaddr_in *four = (const struct sockaddr_in *)address;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;

	memset(to, 0, 16);
	if (address->ss_family == AF_INET) {
		*ret_family = AF_INET;
		memcpy(to, &four->sin_addr, 4);
		*ret_port = four->sin_port;
		return true;
	}
	if (address->ss_family != AF_INET6)
		return false;
	*ret_family = IN6_IS_ADDR_V4MAPPED(&six->sin6_addr) ? AF_INET : AF_INET6;
	if (*ret_family == AF_INET)
		memcpy(to, six->sin6_addr.s6_addr + 12, 4);
	else
		memcpy(to, &six->sin6_addr, 16);
	*ret_port = six->sin6_port;
	return true;
}

static bool find_ends(int fd, struct ends *ret)
{
	struct sockaddr_storage from, to;
	socklen_t from_len = sizeof(from), to_len = sizeof(to);
	int family;

	if (getpeername(fd, (struct sockaddr *)&from, &from_len) ||
		getsockname(fd, (struct sockaddr *)&to, &to_len))
		return false;
	return take_address(&from, &ret->family, ret->from, &ret->from_port) &&
	       take_address(&to, &family, ret->to, &ret->to_port) && family == ret->family;
}

static bool is_loopback(int family, const unsigned char address[16])
{
	struct in6_addr six;

	if (family == AF_INET)
		return address[0] == 127;
	memcpy(&six, address, sizeof(six));
	return IN6_IS_ADDR_LOOPBACK(&six);
}

bool peer_is_loopback_address(const char *host)
{
	unsigned char address[16];

	if (inet_pton(AF_INET, host, address) == 1)
		return is_loopback(AF_INET, address);
	return inet_pton(AF_INET6, host, address) == 1 && is_loopback(AF_INET6, address);
}

/* ---- the kernel's socket table ---- */

static int peer_ask(int fd, const struct ends *e)
{
	struct question q = {.head = {.nlmsg_len = sizeof(q),
				     .nlmsg_type = SOCK_DIAG_BY_FAMILY,
				     .nlmsg_flags = NLM_F_REQUEST},
		.body = {.sdiag_family = (unsigned char)e->family,
			.sdiag_protocol = IPPROTO_TCP,
			.idiag_states = ALL_STATES}};

	q.body.id.idiag_sport = e->from_port;
	q.body.id.idiag_dport = e->to_port;
	memcpy(q.body.id.idiag_src, e->from, sizeof(e->from));
	memcpy(q.body.id.idiag_dst, e->to, sizeof(e->to));
	q.body.id.idiag_cookie[0] = q.body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	return send(fd, &q, sizeof(q), 0) == (ssize_t)sizeof(q) ? 0 : -errno;
}

/* The answer: 0, or what the kernel says instead (-ENOENT: no such connection). */
static int read_answer(int fd, struct inet_diag_msg *ret)
{
	_Alignas(struct nlmsghdr) char bytes[ANSWER_BYTES];
	const struct nlmsghdr *head = (const struct nlmsghdr *)bytes;
	const struct nlmsgerr *error = NLMSG_DATA(head);
	ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n < 0)
		return -errno;
	if (!NLMSG_OK(head, (size_t)n))
		return -EPROTO;
	if (head->nlmsg_type == NLMSG_ERROR && head->nlmsg_len >= NLMSG_LENGTH(sizeof(*error)))
		return error->error ? error->error : -EPROTO;
	if (head->nlmsg_type != SOCK_DIAG_BY_FAMILY || head->nlmsg_len < NLMSG_LENGTH(sizeof(*ret)))
		return -EPROTO;
	memcpy(ret, NLMSG_DATA(head), sizeof(*ret));
	return 0;
}

/* The socket at the other end. The kernel answers before send() returns. */
static int find_socket(const struct ends *e, struct inet_diag_msg *ret)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG), rc;

	if (fd < 0)
		return -errno;
	rc = peer_ask(fd, e);
	if (rc == 0)
		rc = read_answer(fd, ret);
	close(fd);
	return rc;
}

bool peer_can_be_found(void)
{
	/* A connection that nobody has: port 0 of 127.0.0.1 with itself. */
	const struct ends none = {.family = AF_INET, .from = {127, 0, 0, 1}, .to = {127, 0, 0, 1}};
	struct inet_diag_msg found;

	return find_socket(&none, &found) == -ENOENT;
}

/* A socket that no process holds any more has no inode, and claims to be root's. */
static enum peer_kind find_process(int fd, uid_t *ret_uid)
{
	struct inet_diag_msg found;
	struct ends e;

	if (!find_ends(fd, &e) || !is_loopback(e.family, e.from))
		return PEER_REMOTE;
	if (find_socket(&e, &found) || found.idiag_inode == 0)
		return PEER_NOBODY;
	*ret_uid = found.idiag_uid;
	return PEER_LOCAL;
}

static enum peer_kind find_beside(int fd, uid_t *ret_uid)
{
	struct ucred who;
	socklen_t len = sizeof(who);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len))
		return PEER_NOBODY;
	*ret_uid = who.uid;
	return PEER_LOCAL;
}

enum peer_kind peer_find(struct peer *p)
{
	if (p->kind == PEER_UNASKED)
		p->kind = p->beside ? find_beside(p->fd, &p->uid) : find_process(p->fd, &p->uid);
	return p->kind;
}

bool peer_is_ours(struct peer *p)
{
	return peer_find(p) == PEER_LOCAL && (p->uid == 0 || p->uid == geteuid());
}
