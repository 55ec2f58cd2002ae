// A block of a cache as the core gets it: arrays with any content. Whatever passes the checks can be learned, named,
// picked from and written.
//
// An input is 5 bytes (flags, and how many rows, values and prefixes) and then the arrays, one after another.
#include <algorithm>
#include <cstring>
#include <memory>

#include "fuzz.hpp"
#include "thresher/columns.hpp"
#include "thresher/readers/svmlight.hpp"
#include "thresher/writers/svmlight.hpp"

using namespace thresher;
using namespace thresher::fuzz;

namespace {

// An array that ends right behind its last item; what the input does not have is zero.
template <class T>
struct Array {
    Array(std::string_view& bytes, std::size_t n) : items(new T[n]()), size(n) {
        const std::size_t taken = std::min(bytes.size(), n * sizeof(T));
        if (taken > 0) std::memcpy(items.get(), bytes.data(), taken);
        bytes.remove_prefix(taken);
    }
    std::unique_ptr<T[]> items;
    std::size_t size;
};

template <class Id, class Value>
void check_block(std::string_view bytes, std::size_t n_rows, std::size_t n_values, std::size_t n_prefixes,
                 bool weighted) {
    const Array<Id> starts(bytes, n_rows + 1), ids(bytes, n_values);
    const Array<Value> values(bytes, n_values);
    const Array<double> row_weights(bytes, weighted ? n_rows : 0);
    const Array<std::uint64_t> marks(bytes, n_values);
    const Exact text(bytes);
    CsrBatch<Id> batch{starts.items.get(), ids.items.get(), {}, n_rows};
    if constexpr (sizeof(Value) == sizeof(float))
        batch.values.narrow = values.items.get();
    else
        batch.values.wide = values.items.get();
    if (!starts_fit(batch, n_values)) return;
    for (std::size_t r = 0; r < row_weights.size; ++r)
        if (!(std::isfinite(row_weights.items[r]) && row_weights.items[r] >= 0.0)) return;
    std::int64_t largest_id = -1;
    for (std::size_t i = 0; i < n_values; ++i)
        largest_id = std::max(largest_id, static_cast<std::int64_t>(ids.items[i]));
    if (largest_id == std::numeric_limits<std::int64_t>::max()) return;
    if (const Fault fault = batch_fault(batch, largest_id + 1, Norm::l2); fault.kind != Fault::Kind::none) {
        CHECK(fault.row >= 0 && static_cast<std::size_t>(fault.row) < n_rows);
        return;
    }
    const auto members = check_learning(batch, largest_id, weighted ? row_weights.items.get() : nullptr);

    if (const std::span<const std::uint64_t> all(marks.items.get(), n_values); marks_fit(all, text.size, n_prefixes)) {
        NameBook book;
        book.keep(members);
        const std::vector<std::string> prefixes(n_prefixes, "p^");
        book.read(std::span<const Id>(ids.items.get(), n_values), {all.data(), nullptr, text.view(), prefixes}, false);
        book.for_each([&](std::int64_t id, const std::string& name) {
            CHECK(std::find(members.begin(), members.end(), id) != members.end());
            CHECK(name.starts_with("p^") && name.size() <= 2 + text.size);
        });
    }

    std::vector<std::int64_t> sorted = members, row_starts(n_rows + 1), places;
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::int32_t> columns;
    pick_columns(batch, ColumnIndex(sorted.data(), sorted.size()), row_starts.data(), columns, places);
    for (std::size_t k = 0; k < places.size(); ++k)
        CHECK(static_cast<std::int64_t>(ids.items[static_cast<std::size_t>(places[k])]) ==
              sorted[static_cast<std::size_t>(columns[k])]);

    if constexpr (sizeof(Value) == sizeof(float)) {
        const auto again =
            read_svmlight<std::int64_t>(write_svmlight(batch, 0, [](std::size_t) { return "1"; }), false);
        const auto first = static_cast<std::size_t>(batch.starts[0]);
        CHECK(again.bad.empty() && again.n_rows() == n_rows);
        for (std::size_t i = 0; i < again.ids.size(); ++i)
            CHECK(again.ids.data()[i] == static_cast<std::int64_t>(batch.ids[first + i]) &&
                  again.values.data()[i] == batch.values.narrow[first + i]);
    }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t kHead = 5;
    if (size < kHead) return 0;
    const std::string_view bytes = as_text(data + kHead, size - kHead);
    const std::size_t n_rows = data[1], n_values = data[2] + std::size_t{256} * (data[3] % 64), n_prefixes = data[4];
    const bool is_wide = data[0] & 1, has_doubles = data[0] & 2, weighted = data[0] & 4;
    if (is_wide)
        has_doubles ? check_block<std::int64_t, double>(bytes, n_rows, n_values, n_prefixes, weighted)
                    : check_block<std::int64_t, float>(bytes, n_rows, n_values, n_prefixes, weighted);
    else
        has_doubles ? check_block<std::int32_t, double>(bytes, n_rows, n_values, n_prefixes, weighted)
                    : check_block<std::int32_t, float>(bytes, n_rows, n_values, n_prefixes, weighted);
    return 0;
}
