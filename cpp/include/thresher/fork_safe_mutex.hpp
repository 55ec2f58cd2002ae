// A mutex that can be locked in a forked child, whichever thread of the parent was at work.
//
// A child has only the thread that forked. A plain mutex that another thread held stays locked there for ever, and what
// it protects may be half changed. So a fork first takes every mutex of this kind, which waits until the calls that
// hold one have ended, and gives them back on both sides.
//
// That can't end in a deadlock as long as no thread waits for another mutex of this kind, or for Python's lock, while
// it holds one.
#pragma once

#include <pthread.h>

#include <mutex>

namespace thresher {

class ForkSafeMutex {
  public:
    ForkSafeMutex() { all().add(*this); }
    ForkSafeMutex(const ForkSafeMutex&) = delete;
    ~ForkSafeMutex() { all().remove(*this); }

    void lock() { mutex_.lock(); }
    bool try_lock() { return mutex_.try_lock(); }
    void unlock() { mutex_.unlock(); }

  private:
    // A list of all that exist. It needs no memory of its own, since a fork must not allocate any.
    class List {
      public:
        List() {
            pthread_atfork([] { all().lock(); }, [] { all().unlock(); }, [] { all().unlock(); });
        }

        void add(ForkSafeMutex& added) {
            std::lock_guard lock(mutex_);
            added.next_ = first_;
            if (first_ != nullptr) first_->before_ = &added;
            first_ = &added;
        }

        void remove(ForkSafeMutex& removed) {
            std::lock_guard lock(mutex_);
            (removed.before_ != nullptr ? removed.before_->next_ : first_) = removed.next_;
            if (removed.next_ != nullptr) removed.next_->before_ = removed.before_;
        }

        void lock() {
            mutex_.lock();
            for (ForkSafeMutex* each = first_; each != nullptr; each = each->next_) each->lock();
        }

        void unlock() {
            for (ForkSafeMutex* each = first_; each != nullptr; each = each->next_) each->unlock();
            mutex_.unlock();
        }

      private:
        std::mutex mutex_;
        ForkSafeMutex* first_ = nullptr;
    };

    // Never destroyed: a program may fork, or end a selector, while it exits.
    static List& all() {
        static List* list = new List;
        return *list;
    }

    std::mutex mutex_;
    ForkSafeMutex* before_ = nullptr;
    ForkSafeMutex* next_ = nullptr;
};

}  // namespace thresher
