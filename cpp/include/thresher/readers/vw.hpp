// Vowpal Wabbit text: a row is `label [importance] ['tag]|namespace id[:value] id[:value] …`.
//
// A label is a finite number. A feature's name must be a whole number, which is its id; a feature without a value has
// the value 1. A namespace's weight multiplies its values. The ids of two namespaces would collide, so a second one is
// refused.
#pragma once

#include "thresher/readers/text.hpp"

namespace thresher {

template <class Id>
ParsedText<Id> read_vw(std::string_view text, bool skip_bad, bool labelled = true) {
    const char* const end_of_text = text.data() + text.size();
    return read_lines<Id>(text, skip_bad, 2, [=](const char*& p, ParsedText<Id>& rows, std::string& why) {
        while (is_space(*p)) ++p;
        if (ends_line(*p)) return true;
        double label = 0.0, importance = 1.0, number;
        const char* const start = p;
        if (labelled && (!read_number(p, label) || !(is_space(*p) || *p == '|' || ends_line(*p)))) {
            const char* end = start;
            while (!is_space(*end) && !ends_line(*end) && *end != '|') ++end;
            if (is_number_not_finite({start, static_cast<std::size_t>(end - start)}))
                return why = quoted(start, end) + ": the label must be a finite number", false;
            return why = "the line starts with " + quoted(start, token_end(start)) + ": a label must come first", false;
        }
        // Between the label and the bar: an importance, an initial value, a tag that touches the bar.
        for (int place = 0; *p != '|'; ++place) {
            while (is_space(*p)) ++p;
            if (ends_line(*p)) return why = "there is no '|' before the features", false;
            if (*p == '|') break;
            const char* const token = p;
            if (place == 0 && read_number(p, number) && is_space(*p)) {
                if (!labelled) return why = quoted(token, p) + ": the rows of this file start without a label", false;
                if (number < 0.0) return why = quoted(token, p) + ": an importance must not be negative", false;
                importance = number;
                continue;
            }
            while (!is_space(*p) && !ends_line(*p) && *p != '|') ++p;
        }
        double weight = 1.0;
        while (!ends_line(*p)) {
            if (*p == '|') {
                const char* const name = ++p;
                while (!is_space(*p) && !ends_line(*p) && *p != ':' && *p != '|') ++p;
                const std::string_view space(name, static_cast<std::size_t>(p - name));
                if (rows.named && space != rows.name_space)
                    return why = "a second namespace, " + quoted(name, p) + ": only one can be read", false;
                rows.name_space = space, rows.named = true;
                weight = 1.0;
                if (*p == ':' && (++p, !read_number(p, weight)))
                    return why = quoted(name, token_end(name)) + ": the namespace's weight must be a number", false;
                continue;
            }
            if (is_space(*p)) {
                ++p;
                if (weight == 1.0) read_plain_pairs(p, end_of_text, rows);
                continue;
            }
            const char* const token = p;
            std::uint64_t id;
            double value = 1.0;
            if (!read_id(p, id) || !(is_space(*p) || ends_line(*p) || *p == ':' || *p == '|'))
                return why = quoted(token, token_end(token)) + ": a feature's name must be a whole number", false;
            if (*p == ':' && (++p, !read_number(p, value)))
                return why = quoted(token, token_end(token)) + ": the value must be a finite number", false;
            value *= weight;
            if (!(is_space(*p) || ends_line(*p) || *p == '|') || !std::isfinite(static_cast<float>(value)))
                return why = quoted(token, token_end(token)) + ": the value must be a finite number", false;
            rows.add_feature(id, value);
        }
        if (!rows.end_row(label, importance, {})) return why = kSumTooLarge, false;
        return true;
    });
}

}  // namespace thresher
