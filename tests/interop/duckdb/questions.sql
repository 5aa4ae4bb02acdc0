-- how many events of each resource and type
SELECT apigroup, resource, type, count(*), sum(bytes), min(seq), max(seq) FROM events GROUP BY 1, 2, 3;

-- every byte of every object
SELECT resource, count(*), sum(length(object)), min(object), max(object) FROM events GROUP BY 1;

-- the same by another way through the tape
SELECT seq, rv, length(object), substr(object, 1, 200) FROM events ORDER BY seq DESC LIMIT 100;

-- a value out of every object
SELECT jget(object, '$.kind'), jget(object, '$.status.phase'), count(*) FROM events GROUP BY 1, 2;

-- numbers, booleans, lists and what is not there
SELECT seq, jget(object, '$.metadata.generation'), jget(object, '$.spec.paused'), jget(object, '$.spec.ports'),
  jget(object, '$.metadata.ownerReferences[0].controller'), jget(object, '$.no.such.thing') FROM events;

-- values with escapes, by a path in quotes
SELECT seq, jget(object, '$.metadata.annotations."deployment.kubernetes.io/revision"') FROM events
WHERE resource IN ('deployments', 'replicasets');

-- objects that hold a word
SELECT resource, name, count(*) FROM events WHERE instr(object, 'Terminating') > 0 OR instr(object, 'ContainerCreating') > 0
GROUP BY 1, 2;

-- conditions of objects
SELECT e.seq, jget(c.value, '$.type'), jget(c.value, '$.status') FROM events AS e, json_each(e.object, '$.status.conditions') AS c
WHERE e.resource = 'pods';

-- which objects lived more than once under their name
SELECT apigroup, resource, namespace, name, count(DISTINCT uid) FROM events GROUP BY 1, 2, 3, 4 HAVING count(DISTINCT uid) > 1;

-- how long every object lived
SELECT resource, uid, min(time_ns), max(time_ns) - min(time_ns), count(*) FROM events GROUP BY 1, 2;

-- breaks between the events of an object
SELECT seq, time_ns - lag(time_ns) OVER (PARTITION BY resource, uid ORDER BY seq) FROM events WHERE resource = 'leases';

-- slowest time to Ready
WITH p AS (SELECT e.uid, e.time_ns, e.type, jget(e.object, '$.metadata.ownerReferences[0].name') AS owner,
    EXISTS (SELECT 1 FROM json_each(e.object, '$.status.conditions') AS c
            WHERE jget(c.value, '$.type') = 'Ready' AND jget(c.value, '$.status') = 'True') AS ready
  FROM events AS e WHERE e.resource = 'pods'),
t AS (SELECT uid, owner, min(time_ns) FILTER (WHERE type = 'ADDED') AS begun, min(time_ns) FILTER (WHERE ready) AS done
  FROM p GROUP BY uid, owner)
SELECT owner, count(*), max(done - begun), min(done - begun) FROM t WHERE done IS NOT NULL AND begun IS NOT NULL GROUP BY owner;

-- what there is in the end
SELECT apigroup, resource, namespace, name, uid, rv, seq, length(object) FROM objects;

-- what there was at a moment
SELECT apigroup, resource, namespace, name, uid, rv, seq, object FROM objects('{middle_time}');

-- what there was after an event
SELECT apigroup, resource, namespace, name, uid, rv, seq FROM objects('{middle_seq}') WHERE resource = 'pods';

-- what went and what came between two moments
SELECT 'gone', resource, uid FROM (SELECT resource, uid FROM objects('{early_time}') EXCEPT SELECT resource, uid FROM objects('{late_time}'))
UNION ALL
SELECT 'new', resource, uid FROM (SELECT resource, uid FROM objects('{late_time}') EXCEPT SELECT resource, uid FROM objects('{early_time}'));

-- orphans in the end
SELECT o.resource, o.name FROM objects AS o WHERE jget(o.object, '$.metadata.ownerReferences[0].uid') IS NOT NULL
AND jget(o.object, '$.metadata.ownerReferences[0].uid') NOT IN (SELECT uid FROM objects);

-- who changed which field from what to what
SELECT seq, resource, name, path, old, new FROM changes WHERE type = 'MODIFIED' AND path IN ({fields});

-- fields that change most
SELECT resource, path, count(*), count(DISTINCT uid) FROM changes WHERE type = 'MODIFIED' AND path IN ({fields}) GROUP BY 1, 2;

-- changes beside the events that made them
SELECT c.seq, c.path, e.time, e.rv, jget(e.object, c.path) FROM changes AS c JOIN events AS e ON e.seq = c.seq
WHERE c.type = 'MODIFIED' AND c.path = '$.status.phase';

-- how late new objects arrived
SELECT seq, time_ns - to_ns(jget(object, '$.metadata.creationTimestamp')) FROM events WHERE type = 'ADDED' AND origin = 'watch';

-- the second that was busiest
SELECT substr(time, 12, 8), count(*) FROM events WHERE origin = 'watch' GROUP BY 1;

-- how connections ended
SELECT purpose, end_reason, count(*), sum(events), max(duration_ns) FROM connections GROUP BY 1, 2;

-- streams that saw nothing
SELECT stream, resource FROM streams WHERE resource NOT IN (SELECT resource FROM events);

-- which resources were bookmarked how often
SELECT s.resource, count(*), max(m.rv) FROM marks AS m JOIN streams AS s ON s.stream = m.stream WHERE m.kind = 'bookmark' GROUP BY 1;

-- positions in time, by ranges of every kind
SELECT count(*), min(seq), max(seq) FROM events WHERE time >= '{early_time}' AND time < '{late_time}';
SELECT count(*), min(seq), max(seq) FROM events WHERE time_ns BETWEEN {early_ns} AND {late_ns} AND namespace = 'default';
SELECT count(*), min(seq), max(seq) FROM events WHERE rv_number > {middle_rv} AND type <> 'ADDED';
