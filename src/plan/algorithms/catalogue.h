// The entries of the catalogue, each defined in the file of its name: kBroadcastBinomial in
// broadcast_binomial.cc. plan/algorithm.cc puts them in a row. Entries are constant-initialised, so
// the row may be made before or after them.
#pragma once

#include "plan/algorithm.h"

namespace tutti::plan {

extern const Algorithm kAllReduceRing;
extern const Algorithm kAllReduceRecursiveDoubling;
extern const Algorithm kAllReduceRabenseifner;
extern const Algorithm kAllReduceDoubleTree;
extern const Algorithm kAllReduceOneShot;
extern const Algorithm kAllReduceTwoShot;
extern const Algorithm kAllReducePull;
extern const Algorithm kAllReducePullAll;
extern const Algorithm kAllReduceTwoLevel;

extern const Algorithm kReduceBinomial;
extern const Algorithm kReduceReduceScatterGather;
extern const Algorithm kReduceChain;
extern const Algorithm kReducePull;
extern const Algorithm kReduceSpread;

extern const Algorithm kBroadcastBinomial;
extern const Algorithm kBroadcastChain;
extern const Algorithm kBroadcastScatterAllGather;
extern const Algorithm kBroadcastDoubleTree;
extern const Algorithm kBroadcastDirect;
extern const Algorithm kBroadcastSpread;

extern const Algorithm kAllGatherRing;
extern const Algorithm kAllGatherRecursiveDoubling;
extern const Algorithm kAllGatherBruck;
extern const Algorithm kAllGatherNeighborExchange;
extern const Algorithm kAllGatherDirect;

extern const Algorithm kReduceScatterRing;
extern const Algorithm kReduceScatterRecursiveHalving;
extern const Algorithm kReduceScatterPairwise;
extern const Algorithm kReduceScatterDirect;
extern const Algorithm kReduceScatterPull;

extern const Algorithm kAllToAllPairwise;
extern const Algorithm kAllToAllBruck;
extern const Algorithm kAllToAllTwoLevel;
extern const Algorithm kAllToAllDirect;

extern const Algorithm kGatherDirect;
extern const Algorithm kGatherBinomial;

extern const Algorithm kScatterDirect;
extern const Algorithm kScatterBinomial;

extern const Algorithm kBarrierDissemination;
extern const Algorithm kBarrierDirect;

extern const Algorithm kSendRecvDirect;

}  // namespace tutti::plan
