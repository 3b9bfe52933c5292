## Defines, where it is included, the types of one program: a coordinate, a point in registers, a point in a sorted copy.
## Nothing must be in scope.
## Config fields used: real, lanes.
<%include file="/common/contract.mako"/>
% if real == "double":
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define FRNN_LEAST_REACH 0x1p-511
#define FRNN_EPSILON 0x1p-52
#define FRNN_FARTHEST 0x1p28
#define FRNN_REAL(constant) constant
#define FRNN_SIGN(x) ((int)(as_ulong(x) >> 63))
% else:
#define FRNN_LEAST_REACH 0x1p-63f
#define FRNN_EPSILON 0x1p-23f
#define FRNN_FARTHEST 0x1p20f
#define FRNN_REAL(constant) constant##f
#define FRNN_SIGN(x) ((int)(as_uint(x) >> 31))
% endif
typedef ${real} real;
// A point in registers. Lanes without a coordinate are zero.
typedef ${real}${lanes} real_vec;
typedef int${lanes} frnn_shift;

// Sorted copies hold a point of two or three coordinates as a record, whose last lane is the point's id; or they hold
// the first two coordinates of each point as a pair.
typedef ${real}4 frnn_record;
typedef ${real}2 frnn_pair;
% if real == "double":
#define FRNN_LANE_ID(lane) ((int)as_long(lane))
#define FRNN_ID_LANE(id) as_double((long)(id))
% else:
#define FRNN_LANE_ID(lane) as_int(lane)
#define FRNN_ID_LANE(id) as_float((int)(id))
% endif
