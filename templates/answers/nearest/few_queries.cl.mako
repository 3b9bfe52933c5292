<%include file="/common/geometry.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
// Finds the k nearest neighbors of a few queries among all points, many work-items for each query. A neighbor's key is its
// squared distance and then its number. Each pass counts keys by their next ${digit} bits, and keeps those bits that the k-th
// key has. Then the keys up to the k-th are collected and sorted.
// Config fields used: work_group_size, dim, components, real, square_root, digit.
<%
    bits_of = 64 if real == "double" else 32
    word = "ulong" if real == "double" else "uint"
    bins = 1 << digit
    passes = bits_of // digit
%>\
${geometry.root()}

<%def name="key()">
        // The squared distance from query to point j, and its bits: they are ordered as the numbers are.
        const real_vec p = ${geometry.load("points", "j")};
% for k, component in enumerate(components):
        const real d${k} = p${component} - q${component};
% endfor
        const real square = ${" + ".join(f"d{k} * d{k}" for k in range(dim))};
        const ${word} bits = as_${word}(square);
        const int counts = square <= farthest && !(of_points && j == itself);
</%def>

<%def name="query()">
    const real_vec q = ${geometry.load("queries", "query")};
    const int itself = rows[query];
    global const ${word} *const state = states + 4 * (size_t)query;
</%def>

// Counts the keys that begin with the bits that are known, by their next bits.
// Launch: `parts` groups of ${work_group_size} for each query.
// In: points (n, dim), queries (m, dim), rows (m,): the numbers of their rows, which are those of points where of_points is
// not 0; farthest: the largest squared distance of a neighbor; at: which bits, from the first ones of the squared distance to the last ones of the number; states (m, 4): the
// bits that are known of the squared distance and of the number, how many keys are still wanted, and whether all are known.
// In and out: found (m, ${bins}): zero before.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void count_keys(const int n, const int parts, const int at, global const real *restrict points,
                global const real *restrict queries, global const int *restrict rows, const int of_points,
                const real farthest, global const ${word} *restrict states, global int *restrict found)
{
    local int own[${bins}];
    const int l = get_local_id(0), query = get_group_id(0) / parts, part = get_group_id(0) % parts;
    ${query()}
    const ${word} square_bits = state[0];
    const uint number_bits = (uint)state[1];
    const int known = (int)state[3];
    for (int b = l; b < ${bins}; b += ${work_group_size}) own[b] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const int of_number = at >= ${passes}, shift = (of_number ? ${passes + 32 // digit} - 1 - at : ${passes} - 1 - at) * ${digit};
    for (int j = part * ${work_group_size} + l; !known && j < n; j += parts * ${work_group_size}) {
        ${key()}
        // What is shifted by all of its bits is shifted by none.
        const int begins = of_number ? bits == square_bits && ((uint)j ^ number_bits) >> shift >> ${digit} == 0
                                     : (bits ^ square_bits) >> shift >> ${digit} == 0;
        if (counts && begins) atomic_inc(&own[(int)((of_number ? (${word})j : bits) >> shift) & ${bins - 1}]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int b = l; b < ${bins}; b += ${work_group_size})
        if (own[b]) atomic_add(&found[(size_t)query * ${bins} + b], own[b]);
}

// Finds the next bits of the k-th key of each query.
// Launch: a group of ${work_group_size} for each query. In: at, as above. In and out: states, as above; found: zero behind it.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void choose_bits(const int at, global ${word} *restrict states, global int *restrict found)
{
    local int own[${bins}];
    const int l = get_local_id(0), query = get_group_id(0);
    for (int b = l; b < ${bins}; b += ${work_group_size}) {
        own[b] = found[(size_t)query * ${bins} + b];
        found[(size_t)query * ${bins} + b] = 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    global ${word} *const state = states + 4 * (size_t)query;
    if (l || state[3]) return;
    const int of_number = at >= ${passes}, shift = (of_number ? ${passes + 32 // digit} - 1 - at : ${passes} - 1 - at) * ${digit};
    int wanted = (int)state[2], chosen = -1, many = 0;
    for (int b = 0; b < ${bins}; ++b) {
        if (chosen < 0 && wanted <= own[b]) {
            chosen = b;
            many = own[b];
        } else if (chosen < 0) {
            wanted -= own[b];
        }
    }
    // Where there are fewer keys than wanted, or none that is not wanted begins with these bits, all of them are taken.
    if (chosen < 0) {
        state[0] = as_${word}((real)INFINITY);
        state[1] = UINT_MAX;
    } else if (of_number) {
        state[1] |= (${word})chosen << shift;
    } else {
        state[0] |= (${word})chosen << shift;
        if (shift == 0 && many == wanted) state[1] = UINT_MAX;
    }
    state[2] = wanted;
    state[3] = chosen < 0 || (!of_number && shift == 0 && many == wanted);
}

// Collects the keys up to the k-th, in any order.
// Launch and in: as count_keys. Out: squares and ids (m, k); taken (m,), zero before: how many there are.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void take_keys(const int n, const int parts, const int k, global const real *restrict points, global const real *restrict queries,
               global const int *restrict rows, const int of_points, const real farthest, global const ${word} *restrict states,
               global real *restrict squares, global int *restrict ids, global int *restrict taken)
{
    const int l = get_local_id(0), query = get_group_id(0) / parts, part = get_group_id(0) % parts;
    ${query()}
    const ${word} square_bits = state[0];
    const uint number_bits = (uint)state[1];
    for (int j = part * ${work_group_size} + l; j < n; j += parts * ${work_group_size}) {
        ${key()}
        if (counts && (bits < square_bits || (bits == square_bits && (uint)j <= number_bits))) {
            const int slot = atomic_inc(&taken[query]);
            if (slot < k) {
                squares[(size_t)query * k + slot] = square;
                ids[(size_t)query * k + slot] = j;
            }
        }
    }
}

// Sorts the keys of each query, and writes its row. The place of a key is the number of those before it.
// Launch: a group of ${work_group_size} for each query.
// In: squares, ids, taken and rows as above. Out: the rows `rows` of indices and distances (all rows, k).
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void write_rows(const int k, global const real *restrict squares, global const int *restrict ids, global const int *restrict taken,
                global const int *restrict rows, global int *restrict indices, global real *restrict distances)
{
    const size_t begin = (size_t)get_group_id(0) * k, row = (size_t)rows[get_group_id(0)] * k;
    const int many = min(k, taken[get_group_id(0)]);
    for (int e = get_local_id(0); e < k; e += ${work_group_size}) {
        int place = e;
        if (e < many) {
            place = 0;
            for (int other = 0; other < many; ++other)
                place += (squares[begin + other] < squares[begin + e])
                    | ((squares[begin + other] == squares[begin + e]) & (ids[begin + other] < ids[begin + e]));
        }
        indices[row + place] = e < many ? ids[begin + e] : -1;
        distances[row + place] = e < many ? frnn_sqrt(squares[begin + e]) : (real)INFINITY;
    }
}
