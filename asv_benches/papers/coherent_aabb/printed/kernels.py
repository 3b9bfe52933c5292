"""The paper's algorithms 1 and 2 as kernels, and the same with a count of the lanes that are active.

Both are made of one text. In plain kernels a work-item is a lane, and ``REPEAT(x) ... DONE`` a loop. Where lanes are
counted, a work-item plays a warp: ``LANE(type, x)`` declares an ``x`` for each lane, ``EACH`` goes through the lanes,
``OF(x)`` is that of the lane at hand, and ``REPEAT(x)`` goes on while x holds for any lane, as a warp does.
"""

from __future__ import annotations

__all__ = ["COUNTED", "PLAIN", "SOURCE", "WARP"]

#: Lanes of a warp.
WARP = 32

PLAIN = """
#define LANE(type, x) type x
#define OF(x) x
#define EACH
#define ID get_global_id(0)
#define REPEAT(x) while (x) {
#define DONE }
#define ONCE(x)
#define LANES
#define BEGIN
#define END
"""

COUNTED = f"""
#define COUNTED
#define LANE(type, x) type x[{WARP}]
#define OF(x) x[lane]
#define EACH for (int lane = 0; lane < {WARP}; ++lane)
#define ID ((int)get_global_id(0) * {WARP} + lane)
#define TALLY(x) int lanes = 0; EACH lanes += (x) ? 1 : 0; if (lanes) slots += {WARP}, busy += lanes;
#define REPEAT(x) while (1) {{ TALLY(x) if (!lanes) break;
#define DONE }}
#define ONCE(x) {{ TALLY(x) }}
#define LANES , global ulong *shares
#define BEGIN ulong slots = 0, busy = 0;
#define END shares[2 * get_global_id(0)] = slots, shares[2 * get_global_id(0) + 1] = busy;
"""

#: Takes LEAVES, and REACH for a number that no stack exceeds. The pairs that are found are counted by query, or, with
#: LISTED, appended to `keys` (queries) and `found` (points) up to `room`; `total` counts them.
SOURCE = """
#pragma OPENCL FP_CONTRACT OFF
#define TREE const int n, const float radius, global const float *points, global const int *order, \\
    global const int *starts, global const float *low, global const float *high
#define OUT global int *total, const int room, global int *keys, global int *found

float square(const float3 v) { return v.x * v.x + v.y * v.y + v.z * v.z; }

// Whether a query, or the swept volume around a leaf, meets the box of a node.
int touches(const int node, const float3 q, const float r2, global const float *low, global const float *high) {
    return square(fmax(fmax(vload3(node, low) - q, q - vload3(node, high)), 0)) <= r2;
}
int overlaps(const int node, const int own, const float r2, global const float *low, global const float *high) {
    const float3 gap = fmax(fmax(vload3(node, low) - vload3(own, high), vload3(own, low) - vload3(node, high)), 0);
    return gap.x * gap.x <= r2 && gap.y * gap.y <= r2 && gap.z * gap.z <= r2;
}

void emit(const int query, const int point, OUT) {
#ifdef LISTED
    const int place = atomic_inc(total);
    if (place < room) keys[place] = query, found[place] = point;
#else
    ++keys[query];
#endif
}

#define STATE LANE(int, at); LANE(int, top); LANE(int, node); LANE(int, k); LANE(int, end); LANE(int, hit); \\
    LANE(int, put); typedef int Stack[REACH]; LANE(Stack, stack); const float r2 = radius * radius;

// The first leaf that a query touches, 0 where there is none, into `at`.
#define DESCEND(here, meets) \\
    EACH { OF(top) = 0, OF(at) = 0; if (here) OF(stack)[OF(top)++] = 1; } \\
    REPEAT(OF(top) > 0) \\
        EACH if (OF(top) > 0) { \\
            OF(node) = OF(stack)[--OF(top)]; \\
            if (meets(OF(node))) { \\
                if (OF(node) >= LEAVES) OF(at) = OF(node), OF(top) = 0; \\
                else OF(stack)[OF(top)++] = 2 * OF(node) + 1, OF(stack)[OF(top)++] = 2 * OF(node); \\
            } \\
        } \\
    DONE

// Up from the leaf `at`, and down below each brother that is met: `LEAF` takes the points from k to end.
#define ASCEND(meets, LEAF) \\
    EACH OPEN(OF(at)) \\
    LEAF \\
    REPEAT(OF(at) > 1) \\
        EACH { \\
            OF(top) = 0; \\
            if (OF(at) > 1 && meets(OF(at) ^ 1)) OF(stack)[OF(top)++] = OF(at) ^ 1; \\
            OF(at) >>= 1; \\
        } \\
        REPEAT(OF(top) > 0) \\
            EACH { \\
                OF(node) = 0; \\
                if (OF(top) > 0) { \\
                    OF(node) = OF(stack)[--OF(top)]; \\
                    if (OF(node) < LEAVES) { \\
                        if (meets(2 * OF(node) + 1)) OF(stack)[OF(top)++] = 2 * OF(node) + 1; \\
                        if (meets(2 * OF(node))) OF(stack)[OF(top)++] = 2 * OF(node); \\
                    } \\
                } \\
                OPEN(OF(node)) \\
            } \\
            LEAF \\
        DONE \\
    DONE

#define OPEN(leaf) { OF(k) = (leaf) >= LEAVES ? starts[(leaf) - LEAVES] : 0; \\
    OF(end) = (leaf) >= LEAVES ? starts[(leaf) - LEAVES + 1] : 0; }

// --- algorithm 1: a query a work-item -------------------------------------------------------------------------------

#define NEAR(node) touches(node, OF(q), r2, low, high)
#define TEST \\
    REPEAT(OF(k) < OF(end)) \\
        EACH { \\
            OF(hit) = 0; \\
            if (OF(k) < OF(end)) { \\
                const int j = order[OF(k)]; \\
                OF(hit) = j != OF(i) && square(vload3(j, points) - OF(q)) <= r2; \\
                if (OF(hit)) emit(OF(i), j, total, room, keys, found); \\
            } \\
            ++OF(k); \\
        } \\
        ONCE(OF(hit)) \\
    DONE
#define SEARCH { \\
    EACH OF(q) = OF(i) < n ? vload3(OF(i), points) : (float3)(0); \\
    DESCEND(OF(i) < n, NEAR) \\
    ASCEND(NEAR, TEST) \\
}

kernel void primary(TREE, OUT, global const int *queries LANES) {
    BEGIN
    STATE
    LANE(int, i); LANE(float3, q);
    EACH OF(i) = ID < n ? queries[ID] : n;
    SEARCH
    END
}

#ifndef COUNTED
// Work-items that are through take the next query.
kernel void balanced(TREE, OUT, global const int *queries, global int *next) {
    STATE
    for (int place = atomic_inc(next); place < n; place = atomic_inc(next)) {
        const int i = queries[place];
        float3 q;
        SEARCH
    }
}
#endif

// --- algorithm 2 -----------------------------------------------------------------------------------------------------

// Phase I, of queries that are no points of the tree: the first leaf that each touches.
kernel void pack(TREE, global int *leaves LANES) {
    BEGIN
    STATE
    LANE(float3, q);
    EACH OF(q) = ID < n ? vload3(ID, points) : (float3)(0);
    DESCEND(ID < n, NEAR)
    EACH if (ID < n) leaves[ID] = OF(at);
    END
}

#define SWEPT(node) overlaps(node, OF(own), r2, low, high)
#define APPEND \\
    EACH OF(put) = OF(end) > OF(k) ? atomic_add(total, OF(end) - OF(k)) : 0; \\
    REPEAT(OF(k) < OF(end)) \\
        EACH { \\
            if (OF(k) < OF(end) && OF(put) < room) keys[OF(put)] = OF(own), found[OF(put)] = order[OF(k)]; \\
            ++OF(k), ++OF(put); \\
        } \\
    DONE

// Phase II: a leaf of queries a work-item, which appends the points of all leaves that its swept volume meets.
kernel void back_traverse(TREE, OUT LANES) {
    BEGIN
    STATE
    LANE(int, own);
    EACH OF(own) = OF(at) = ID < LEAVES ? LEAVES + ID : 0;
    ASCEND(SWEPT, APPEND)
    END
}

// Phase III: a candidate a work-item, which is tested against each query of the leaf that it was found for.
kernel void extract(TREE, OUT, const int candidates, global const int *owners, global const int *members LANES) {
    BEGIN
    STATE
    LANE(int, j); LANE(float3, p);
    EACH {
        OF(j) = ID < candidates ? members[ID] : 0;
        OF(p) = vload3(OF(j), points);
        OPEN(ID < candidates ? owners[ID] : 0)
    }
    REPEAT(OF(k) < OF(end))
        EACH {
            OF(hit) = 0;
            if (OF(k) < OF(end)) {
                const int i = order[OF(k)];
                OF(hit) = i != OF(j) && square(OF(p) - vload3(i, points)) <= r2;
                if (OF(hit)) emit(i, OF(j), total, room, keys, found);
            }
            ++OF(k);
        }
        ONCE(OF(hit))
    DONE
    END
}

// Rows of sorted keys: where each begins, and what is in them.
kernel void begin_rows(const int n, const int pairs, global const uint *keys, global int *offsets) {
    const int i = get_global_id(0);
    if (i > n) return;
    int first = 0, last = pairs;
    while (first < last) {
        const int middle = first + (last - first) / 2;
        if (keys[middle] < (uint)i) first = middle + 1;
        else last = middle;
    }
    offsets[i] = first;
}
kernel void gather(const int pairs, global const int *places, global const int *found, global int *indices) {
    const int k = get_global_id(0);
    if (k < pairs) indices[k] = found[places[k]];
}
"""
