;; WASI preview 1, frozen: no environment, no files, a clock that stands still, "random" bytes that are always the
;; same. `reactor.wat` and `command.wat` have the rest: arguments and standard streams.
;;
;; It has no memory of its own, so it works from the first instruction of a guest's start on, before that guest has an
;; allocator.

  ;; Errors: 8 is EBADF, 52 is ENOSYS.

  (func (export "environ_sizes_get") (param $count i32) (param $size i32) (result i32)
    (i32.store (local.get $count) (i32.const 0))
    (i32.store (local.get $size) (i32.const 0))
    (i32.const 0))
  (func (export "environ_get") (param i32 i32) (result i32) (i32.const 0))

  (func (export "clock_res_get") (param $clock i32) (param $ret i32) (result i32)
    (i64.store (local.get $ret) (i64.const 1000))
    (i32.const 0))
  ;; 2020-01-01T00:00:00Z on every clock; a policy that needs the time asks for it.
  (func (export "clock_time_get") (param $clock i32) (param $precision i64) (param $ret i32) (result i32)
    (i64.store (local.get $ret) (i64.const 1577836800000000000))
    (i32.const 0))

  ;; The same bytes for each request of a length: xorshift from a fixed seed.
  (func (export "random_get") (param $at i32) (param $len i32) (result i32) (local $x i32)
    (local.set $x (i32.const 0x9e3779b9))
    (block $end (loop $next
      (br_if $end (i32.eqz (local.get $len)))
      (local.set $x (i32.xor (local.get $x) (i32.shl (local.get $x) (i32.const 13))))
      (local.set $x (i32.xor (local.get $x) (i32.shr_u (local.get $x) (i32.const 17))))
      (local.set $x (i32.xor (local.get $x) (i32.shl (local.get $x) (i32.const 5))))
      (i32.store8 (local.get $at) (local.get $x))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (local.set $len (i32.sub (local.get $len) (i32.const 1)))
      (br $next)))
    (i32.const 0))

  (func (export "fd_write") (param $fd i32) (param $iov i32) (param $count i32) (param $ret i32) (result i32)
    (local $sum i32)
    (if (i32.gt_u (i32.sub (local.get $fd) (i32.const 1)) (i32.const 1)) (then (return (i32.const 8))))
    (block $end (loop $next
      (br_if $end (i32.eqz (local.get $count)))
      (call $write (local.get $fd) (i32.load (local.get $iov)) (i32.load offset=4 (local.get $iov)))
      (local.set $sum (i32.add (local.get $sum) (i32.load offset=4 (local.get $iov))))
      (local.set $iov (i32.add (local.get $iov) (i32.const 8)))
      (local.set $count (i32.sub (local.get $count) (i32.const 1)))
      (br $next)))
    (i32.store (local.get $ret) (local.get $sum))
    (i32.const 0))

  ;; Every event is there at once: whoever waits for time to pass waits until the call's own time is over.
  (func (export "poll_oneoff") (param $in i32) (param $out i32) (param $count i32) (param $ret i32) (result i32)
    (i32.store (local.get $ret) (local.get $count))
    (block $end (loop $next
      (br_if $end (i32.eqz (local.get $count)))
      (i64.store (local.get $out) (i64.load (local.get $in)))
      (i64.store offset=8 (local.get $out)
        (i64.shl (i64.extend_i32_u (i32.load8_u offset=8 (local.get $in))) (i64.const 16)))
      (i64.store offset=16 (local.get $out) (i64.const 0))
      (i64.store offset=24 (local.get $out) (i64.const 0))
      (local.set $in (i32.add (local.get $in) (i32.const 48)))
      (local.set $out (i32.add (local.get $out) (i32.const 32)))
      (local.set $count (i32.sub (local.get $count) (i32.const 1)))
      (br $next)))
    (i32.const 0))

  (func (export "sched_yield") (result i32) (i32.const 0))
  (func (export "proc_exit") (param $code i32) (call $exit (local.get $code)) unreachable)
  (func (export "proc_raise") (param i32) (result i32) (i32.const 52))

  ;; No descriptor is open but the standard ones.
  (func (export "fd_advise") (param i32 i64 i64 i32) (result i32) (i32.const 8))
  (func (export "fd_allocate") (param i32 i64 i64) (result i32) (i32.const 8))
  (func (export "fd_close") (param i32) (result i32) (i32.const 8))
  (func (export "fd_datasync") (param i32) (result i32) (i32.const 8))
  (func (export "fd_fdstat_set_flags") (param i32 i32) (result i32) (i32.const 8))
  (func (export "fd_fdstat_set_rights") (param i32 i64 i64) (result i32) (i32.const 8))
  (func (export "fd_filestat_get") (param i32 i32) (result i32) (i32.const 8))
  (func (export "fd_filestat_set_size") (param i32 i64) (result i32) (i32.const 8))
  (func (export "fd_filestat_set_times") (param i32 i64 i64 i32) (result i32) (i32.const 8))
  (func (export "fd_pread") (param i32 i32 i32 i64 i32) (result i32) (i32.const 8))
  (func (export "fd_prestat_get") (param i32 i32) (result i32) (i32.const 8))
  (func (export "fd_prestat_dir_name") (param i32 i32 i32) (result i32) (i32.const 8))
  (func (export "fd_pwrite") (param i32 i32 i32 i64 i32) (result i32) (i32.const 8))
  (func (export "fd_readdir") (param i32 i32 i32 i64 i32) (result i32) (i32.const 8))
  (func (export "fd_renumber") (param i32 i32) (result i32) (i32.const 8))
  (func (export "fd_seek") (param i32 i64 i32 i32) (result i32) (i32.const 8))
  (func (export "fd_sync") (param i32) (result i32) (i32.const 8))
  (func (export "fd_tell") (param i32 i32) (result i32) (i32.const 8))
  (func (export "path_create_directory") (param i32 i32 i32) (result i32) (i32.const 8))
  (func (export "path_filestat_get") (param i32 i32 i32 i32 i32) (result i32) (i32.const 8))
  (func (export "path_filestat_set_times") (param i32 i32 i32 i32 i64 i64 i32) (result i32) (i32.const 8))
  (func (export "path_link") (param i32 i32 i32 i32 i32 i32 i32) (result i32) (i32.const 8))
  (func (export "path_open") (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32) (i32.const 8))
  (func (export "path_readlink") (param i32 i32 i32 i32 i32 i32) (result i32) (i32.const 8))
  (func (export "path_remove_directory") (param i32 i32 i32) (result i32) (i32.const 8))
  (func (export "path_rename") (param i32 i32 i32 i32 i32 i32) (result i32) (i32.const 8))
  (func (export "path_symlink") (param i32 i32 i32 i32 i32) (result i32) (i32.const 8))
  (func (export "path_unlink_file") (param i32 i32 i32) (result i32) (i32.const 8))
  (func (export "sock_accept") (param i32 i32 i32) (result i32) (i32.const 8))
  (func (export "sock_recv") (param i32 i32 i32 i32 i32 i32) (result i32) (i32.const 8))
  (func (export "sock_send") (param i32 i32 i32 i32 i32) (result i32) (i32.const 8))
  (func (export "sock_shutdown") (param i32 i32) (result i32) (i32.const 8))
