// What a learner tells of a row: how it scored, and what its step did.
#pragma once

namespace thresher {

// A margin (of two classes) or the score of one class of many, and how unsure it is; first-order learners do not know.
struct Score {
    double margin;
    double variance;
};

// A step on two classes.
struct Step {
    double margin;               // before the step: what `predict` would have said
    double loss = 0.0;           // of that
    bool updated = false;        // the row had a loss
    bool candidates = false;     // some outsider's rank may be above the lowest member's
    bool saturated = false;      // there was a loss, and yet float32 let nothing grow
    bool fallen = false;         // the rank of some member fell below what the set watches …
    float lowest_member = 0.0f;  // … and this is the lowest rank of the row's members now; for ranks that can fall
};

// A step that pulled two of many classes apart.
struct PairStep {
    double loss = 0.0;
    bool updated = false;
    bool saturated = false;
};

}  // namespace thresher
