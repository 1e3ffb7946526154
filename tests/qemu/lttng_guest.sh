#!/bin/busybox sh
# SPDX-License-Identifier: MIT
# The guest of lttng.py: LTTng and duet record the same, in the same kernel; both recordings leave by ttyS2.
/bin/busybox --install -s /bin
export PATH=/bin HOME=/tmp DUET_RUNTIME_DIR=/tmp/run
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mount -t tracefs tracefs /sys/kernel/tracing
mkdir -p /dev/shm /var/run /etc
mount -t tmpfs shm /dev/shm
echo root:x:0:0:root:/tmp:/bin/sh >/etc/passwd
echo root:x:0: >/etc/group
ip link set lo up
stty -F /dev/ttyS2 raw
exec >/dev/ttyS1 2>&1
cd /tmp

modprobe loop
dd if=/dev/zero of=disk bs=64k count=32 2>/dev/null
losetup /dev/loop0 disk

# Activity that both may record: programs born and ended, files, signals, a disk, packets, waiting.
cat >work <<'END'
calls getppid 20
calls open 20 /init
calls sleep 5 2
ls -l / /dev >/dev/null
sh -c 'sleep 100 & p=$!; kill -STOP $p; kill -CONT $p; kill $p; wait $p'
dd if=/dev/loop0 of=/dev/null bs=4k count=64 2>/dev/null
dd if=/init of=/dev/loop0 bs=4k conv=fsync 2>/dev/null
ping -c 2 -i 0.1 127.0.0.1 >/dev/null
nc -l -p 4711 </init >/dev/null &
sleep 0.2
echo hello | nc -w 1 127.0.0.1 4711 >/dev/null
wait
renice -n 5 -p $$ 2>&1; calls getppid 5
find /bin /lib -name '*x*' | head -5
END

say() { "$@" >log 2>&1 || { echo "not ok $*"; cat log; }; }
lttng-sessiond --kmod-probes=block,irq,module,napi,net,power,printk,sched,signal,skb,sock,statedump,udp,workqueue,writeback,x86-exceptions,x86-irq-vectors --consumerd64-path=/bin/lttng-consumerd >sessiond 2>&1 &
for i in $(seq 100); do
	lttng --no-sessiond list >/dev/null 2>&1 && break
	[ -e /proc/$! ] || break
	sleep 0.1
done
lttng --no-sessiond list >/dev/null 2>&1 || cat sessiond
say lttng --no-sessiond create both --output=/tmp/both/lttng
say lttng enable-channel -k all --subbuf-size=8M --num-subbuf=4
say lttng enable-event -k -c all --tracepoint --all
say lttng enable-event -k -c all --syscall --all
say lttng add-context -k -c all -t tid -t procname
say lttng start
duet record -o both/duet --all-kernel --kernel-backend auto -k sched,syscalls,irq,signal,task,block,fs,net,power,workqueue,exceptions:*,printk:*,module:*,skb:*,sock:* \
	--kernel-buffer 32M -- sh work >out 2>err || cat err
cat err
say lttng stop
say lttng destroy
tar c both | gzip -1 >/dev/ttyS2
echo done
sync
poweroff -f
