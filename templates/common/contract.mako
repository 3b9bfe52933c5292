// This stands in every program. Squared distances must equal those of numpy bit for bit. A multiplication and an
// addition must therefore round twice, so contraction to fma is off.
#pragma OPENCL FP_CONTRACT OFF
// Clang says where it could not unroll a loop, also with all warnings off. Nothing depends on it.
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed"
#endif
