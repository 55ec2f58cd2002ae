// What a learner reports about a row: what its step did.
#pragma once

namespace thresher {

// A step on two classes.
struct Step {
    double margin;               // before the step: what `predict` would have used
    double loss = 0.0;           // at that margin
    bool updated = false;        // the row had a loss
    bool candidates = false;     // some outsider's rank may be above the lowest member's
    bool saturated = false;      // there was a loss, yet float32 let no precision grow
    bool low = false;            // some member of the row is below what the member set watches
    float lowest_member = 0.0f;  // the lowest rank of the row's members after the step, if ranks can fall
};

// A step that pulled two of many classes apart.
struct PairStep {
    double loss = 0.0;
    bool updated = false;
    bool saturated = false;
};

}  // namespace thresher
