/*
 * service_pool.h: the cluster IPs and node ports that services have: those that the tape gives to any service
 * at any time, and those of present services, even absorbed ones. An assigned value follows from the
 * service's namespace and name, whatever was assigned before, unless another service has it.
 */
#ifndef REPLAYER_SERVICE_POOL_H
#define REPLAYER_SERVICE_POOL_H

#include "replayer/world/world.h"

#define SERVICE_IP_BYTES 64

struct service_pool;

/* Borrows the world. What the tape gives is read when it is first asked for. */
struct service_pool *service_pool_new(struct world *w);
void service_pool_free(struct service_pool *p); /* accepts NULL */

/* The service that asks; its own addresses do not conflict. */
struct service_name {
	struct slice namespace, name;
};

/* Looks at the services that are there now; before the questions below. */
void service_pool_look(struct service_pool *p, const struct collection *services, struct service_name asks);

/* Whether another service that is there now has it. */
bool service_pool_has_ip(const struct service_pool *p, const char *ip);
bool service_pool_has_port(const struct service_pool *p, int port);

/* Returns one that no service has or, on the tape, ever had; a port is given once until the next look. False,
 * and 0, if there is none. */
bool service_pool_give_ip(struct service_pool *p, char to[SERVICE_IP_BYTES]);
int service_pool_give_port(struct service_pool *p, const char *port);

#endif
