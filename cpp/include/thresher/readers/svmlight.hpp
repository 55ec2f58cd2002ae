// svmlight / libsvm text: a row is `label [qid:n] id:value id:value … [# comment]`.
//
// Read as real files have it: blank lines and comments are skipped, ids may be unsorted or repeated (summed), a label
// is a finite number or any other word, lines may end in CR LF, and a row may have a label and nothing else.
#pragma once

#include "thresher/readers/text.hpp"

namespace thresher {

template <class Id>
ParsedText<Id> read_svmlight(std::string_view text, bool skip_bad, bool labelled = true) {
    const char* const end_of_text = text.data() + text.size();
    return read_lines<Id>(text, skip_bad, 4, [=](const char*& p, ParsedText<Id>& rows, std::string& why) {
        while (is_space(*p)) ++p;
        if (ends_line(*p) || *p == '#') return true;
        const char* const label = p;
        double number = 0.0;
        // A row without a label has 0, which nobody reads.
        bool is_number = !labelled || read_number(p, number);
        if (labelled && is_number && !is_space(*p) && !ends_line(*p) && *p != '#') is_number = false;
        const char* label_end = p;
        if (!is_number) {
            label_end = token_end(label);
            const std::string_view word(label, static_cast<std::size_t>(label_end - label));
            if (word.find(':') != word.npos)
                return why = "the line starts with " + quoted(label, label_end) + ": a label must come first", false;
            if (is_number_not_finite(word))
                return why = quoted(label, label_end) + ": the label must be a finite number or a word", false;
            p = label_end;
            number = 0.0;
        }
        for (;;) {
            std::uint64_t id;
            double value;
            p += *p == ' ';
            read_plain_pairs(p, end_of_text, rows);
            while (is_space(*p)) ++p;
            if (*p == '\n' || *p == '#' || *p == '\0') break;
            const char* const token = p;
            if (!read_id(p, id) || *p != ':') {
                const char* const end = token_end(token);
                if (std::string_view(token, static_cast<std::size_t>(end - token)).starts_with("qid:")) {
                    p = end;
                    continue;
                }
                const bool is_pair = std::find(token, end, ':') != end;
                return why = quoted(token, end) +
                             (is_pair ? ": an id must be a whole number from 0 to 2^63 - 2" : " is not id:value"),
                       false;
            }
            ++p;
            if (!read_number(p, value) || !(is_space(*p) || ends_line(*p) || *p == '#') ||
                !std::isfinite(static_cast<float>(value)))
                return why = quoted(token, token_end(token)) + ": the value must be a finite number", false;
            rows.add_feature(id, value);
        }
        const bool is_kept = !is_number || is_large_label(number);
        const std::string_view word(label, is_kept ? static_cast<std::size_t>(label_end - label) : 0);
        if (!rows.end_row(number, 1.0, word)) return why = kSumTooLarge, false;
        return true;
    });
}

}  // namespace thresher
