// The mean length of the rows so far, by which rows are divided where targets are numbers. Scaling each row to unit
// length would lose what a number depends on.
#pragma once

namespace thresher {

struct MeanLength {
    double length_rows = 0.0;  // those with a length above 0
    double length_sum = 0.0;

    void add(double length) {
        if (!(length > 0.0)) return;
        length_rows += 1.0;
        length_sum += length;
    }
    // What a row is multiplied by; 1 as long as no row has a length.
    double scale() const { return length_sum > 0.0 ? length_rows / length_sum : 1.0; }
};

}  // namespace thresher
