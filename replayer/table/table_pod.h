/*
 * table_pod.h: the columns of a pod, which show the state of its containers in one word.
 */
#ifndef REPLAYER_TABLE_POD_H
#define REPLAYER_TABLE_POD_H

#include "replayer/table/table_columns.h"

table_cell_writer pod_cell_ready, pod_cell_status, pod_cell_restarts, pod_cell_gates, pod_cell_ip;

#endif
