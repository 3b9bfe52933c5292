<%include file="contract.cl.mako"/>
// The types of one program: a coordinate, a point in registers (spare lanes zero), a point in the sorted copy.
// Config fields used: real, lanes.
% if real == "double":
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define FRNN_LEAST_REACH 0x1p-511
#define FRNN_EPSILON 0x1p-52
#define FRNN_FARTHEST 0x1p30
% else:
#define FRNN_LEAST_REACH 0x1p-63f
#define FRNN_EPSILON 0x1p-23f
#define FRNN_FARTHEST 0x1p20f
% endif
typedef ${real} real;
typedef ${real}${lanes} real_vec;
typedef int${lanes} frnn_shift;

// Sorted copies hold a point of two or three coordinates in four lanes; the last one carries the point's id.
typedef ${real}4 frnn_record;
% if real == "double":
#define FRNN_LANE_ID(lane) ((int)as_long(lane))
#define FRNN_ID_LANE(id) as_double((long)(id))
% else:
#define FRNN_LANE_ID(lane) as_int(lane)
#define FRNN_ID_LANE(id) as_float((int)(id))
% endif
