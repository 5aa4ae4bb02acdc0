/*
 * container_sql.h: pieces of SQL over the statuses of a pod's containers.
 */
#ifndef TOOLS_CONTAINER_SQL_H
#define TOOLS_CONTAINER_SQL_H

/* The table s: one row for each status in the JSON of a pod, s.value, those of init containers included. They run before
 * the others, and a sidecar beside them. Containers that were put in for debugging are no part of the pod's work. */
#define CONTAINER_STATUSES(object)                                                                           \
	"json_each(coalesce(jget(" object ", '$.status'), '{}')) AS l, "                                     \
	"json_each(CASE WHEN l.key IN ('initContainerStatuses', 'containerStatuses') AND l.type = 'array' THEN l.value ELSE '[]' END) AS s "

/* How the container of s ended last. */
#define CONTAINER_ENDED                                                                                      \
	"coalesce(jget(s.value, '$.state.terminated'), jget(s.value, '$.lastState.terminated'))"

#endif
