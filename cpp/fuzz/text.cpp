// Text to tokens, n-grams and names: words and characters, in lower case or as they are.
#include <algorithm>
#include <map>

#include "fuzz.hpp"
#include "thresher/names/naming.hpp"

using namespace thresher;
using namespace thresher::fuzz;

namespace {

std::vector<std::string> tokens_of(std::string_view text, bool characters, bool lowercase, bool& good) {
    Column<char> names(0);
    std::vector<Token> tokens;
    good =
        characters ? append_characters(text, lowercase, names, tokens) : append_words(text, lowercase, names, tokens);
    std::vector<std::string> out;
    if (good)
        for (const Token& token : tokens) out.emplace_back(names.data() + token.begin, names.data() + token.end);
    return out;
}

std::string joined(const std::vector<std::string>& tokens, std::string_view between) {
    std::string all;
    for (const std::string& token : tokens) all.append(&token == tokens.data() ? "" : between).append(token);
    return all;
}

// Every n-gram of the tokens, made the plain way, is a feature of the row, and nothing else is.
void check_ngrams(std::string_view text, const std::vector<std::string>& tokens, const TextOptions& options) {
    const Naming naming({{"t", ColumnKind::text}}, options);
    ParsedText<std::int64_t> rows(1, 0);
    RowNamer namer(naming, rows.names.emplace());
    std::string why;
    if (!namer.add_text(0, text, why)) {
        CHECK(why.find("64 KB") != why.npos);
        return;
    }
    CHECK(namer.row.move_to(rows.ids, rows.values, *rows.names) && rows.end_row(0.0, 1.0, {}));
    check_rows(rows);
    std::map<std::int64_t, float> expected;
    for (std::size_t i = 0; i < tokens.size(); ++i)
        for (std::size_t n = options.least; n <= options.most && i + n <= tokens.size(); ++n) {
            const std::vector<std::string> gram(tokens.begin() + static_cast<std::ptrdiff_t>(i),
                                                tokens.begin() + static_cast<std::ptrdiff_t>(i + n));
            float& value = expected[name_id(joined(gram, options.characters ? "" : " "))];
            value = options.counts ? value + 1.0f : 1.0f;
        }
    CHECK(rows.ids.size() == expected.size());
    std::size_t k = 0;
    for (const auto& [id, value] : expected) {
        CHECK(rows.ids.data()[k] == id && rows.values.data()[k] == value);
        ++k;
    }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Exact text(as_text(data, size));
    const bool is_valid = is_utf8(text.view()), characters = size % 2 == 0, lowercase = size % 3 != 0;
    bool good = false, unused = false;
    const auto tokens = tokens_of(text.view(), characters, lowercase, good);
    CHECK(good == is_valid);
    if (!good) return 0;

    const Turn turn(text.view());
    if (turn.is(0, 3)) {
        std::string decoded;
        for (const char *p = text.view().data(), *end = p + size; p < end;) {
            char bytes[4];
            decoded.append(bytes, write_utf8(next_character(p, end), bytes));
        }
        CHECK(decoded == text.view());
    }
    if (turn.is(1, 3)) {
        // Tokens are text, and the tokens of what they say are the same.
        const std::string said = joined(tokens, characters ? "" : " ");
        CHECK(is_utf8(said) && tokens_of(Exact(said).view(), characters, lowercase, unused) == tokens);
        if (!characters) CHECK(std::find(tokens.begin(), tokens.end(), "") == tokens.end());
    }
    if (turn.is(2, 3)) {
        const std::size_t least = 1 + size / 6 % 2;
        check_ngrams(text.view(), tokens, {least, least + size / 12 % 3, characters, size / 36 % 2 == 0, lowercase});
    }
    return 0;
}
