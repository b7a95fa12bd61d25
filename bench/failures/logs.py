"""Lines as well-known systems write them, each labelled with the template it was made from; sixteen formats.

The lines are our own, in the manner of the systems that they are named after.
"""

from collections.abc import Callable, Iterator
from random import Random

from bench.failures.labelled import PLACES, Labelled, filled

_USERS = "root admin guest oracle test git postgres ubnt pi webmaster nagios user1".split()
_HOSTS = "proxy.cse.cuhk.edu.hk www.google.com mail.yahoo.net cdn-07.akamai.net qqlogin.qq.com api.github.io".split()
_NODES = "R02-M1-N0-C:J12-U11 R30-M0-NF-C:J05-U01 R16-M1-N2 R63-M0-L3-U19-C R71-M1-N8-I:J18-U11".split()
_PACKAGES = "com.android.systemui com.tencent.mm com.android.phone com.huawei.health android.process.media".split()
_ACTIONS = "SCREEN_ON SCREEN_OFF TIME_TICK BATTERY_CHANGED USER_PRESENT".split()
_PROGRAMS = "httpd java python mysqld sshd crond".split()
_DAYS = "Mon Tue Wed Thu Fri Sat Sun".split()
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


def _hexa(digits: int) -> Callable[[Random], str]:
    return lambda random: f"{random.getrandbits(4 * digits):0{digits}x}"


def _clock(random: Random) -> str:
    return f"{random.randrange(24):02}:{random.randrange(60):02}:{random.randrange(60):02}"


def _day(random: Random) -> str:
    day = f"{random.choice(_DAYS)} {random.choice(_MONTHS)} {random.randrange(10, 29)}"
    return f"{day} {_clock(random)} {random.randrange(2004, 2020)}"


def _received(random: Random) -> str:
    """With a size in words, or without."""
    number = random.randrange(200_000)
    return f"{number} bytes ({number / 1024:.1f} KB)" if number > 1024 else f"{number} bytes"


def _lifetime(random: Random) -> str:
    return random.choice(("<1 sec", f"{random.randrange(60):02}:{random.randrange(60):02}"))


PLACES |= {
    "blk": lambda random: f"blk_{random.choice(('', '-'))}{random.randrange(10**15, 10**18)}",
    "port": lambda random: str(random.randrange(1024, 65_535)),
    "h2": _hexa(2),
    "h8": _hexa(8),
    "h16": _hexa(16),
    "h32": _hexa(32),
    "H8": lambda random: _hexa(8)(random).upper(),
    "mac": lambda random: ":".join(_hexa(2)(random) for _ in range(6)),
    "node": lambda random: random.choice(_NODES),
    "user": lambda random: random.choice(_USERS),
    "host": lambda random: random.choice(_HOSTS),
    "pkg": lambda random: random.choice(_PACKAGES),
    "action": lambda random: random.choice(_ACTIONS),
    "program": lambda random: random.choice(_PROGRAMS),
    "clock": _clock,
    "day": _day,
    "sized": _received,
    "lifetime": _lifetime,
    "big": lambda random: str(random.randrange(10**12, 10**13)),
    "four": lambda random: f"{random.randrange(10_000):04}",
    "six": lambda random: f"{random.randrange(10**6):06}",
    "bool": lambda random: random.choice(("true", "false")),
    "cab": lambda random: f"{random.choice('ABCD')}{random.randrange(1, 9)}",
}

FORMATS: dict[str, str] = {
    "HDFS": """
Receiving block {blk} src: /{ip}:{port} dest: /{ip}:{port}
PacketResponder {n} for block {blk} terminating
Received block {blk} of size {n} from /{ip}
BLOCK* NameSystem.addStoredBlock: blockMap updated: {ip}:{port} is added to {blk} size {n}
BLOCK* NameSystem.delete: {blk} is added to invalidSet of {ip}:{port}
Verification succeeded for {blk}
Deleting block {blk} file /mnt/hadoop/dfs/data/current/subdir{n}/{blk}
BLOCK* NameSystem.allocateBlock: /user/root/rand/_temporary/_task_{n}_0001_m_{six}_0/part-{n}. {blk}
{ip}:{port} Served block {blk} to /{ip}
{ip}:{port}:Got exception while serving {blk} to /{ip}:
BLOCK* ask {ip}:{port} to replicate {blk} to datanode(s) {ip}:{port}""",
    "BGL": """
instruction cache parity error corrected
generating core.{n}
CE sym {n}, at 0x{h8}, mask 0x{h2}
{n} double-hummer alignment exceptions
ciod: failed to read message prefix on control stream (CioStream socket to {ip}:{port}
ciod: Error reading message prefix after LOGIN_MESSAGE on CioStream socket to {ip}:{port}: Link has been severed
total of {n} ddr error(s) detected and corrected
iar {h8} dear {h8}
data TLB error interrupt
MidplaneSwitchController performing bit sparing on {node} bit {n}
{n} L3 EDRAM error(s) (dcr 0x{h8}) detected and corrected
ciod: LOGIN chdir({path}) failed: No such file or directory
Lustre mount FAILED : {node} : block_id : location
rts: kernel terminated for reason {n}""",
    "Spark": """
Found block rdd_{n}_{n} locally
Finished task {n}.0 in stage {n}.0 (TID {n}). {n} bytes result sent to driver
Running task {n}.0 in stage {n}.0 (TID {n})
Got assigned task {n}
Block broadcast_{n}_piece0 stored as bytes in memory (estimated size {f} KB, free {f} MB)
Block broadcast_{n} stored as values in memory (estimated size {f} KB, free {f} MB)
Started reading broadcast variable {n}
Reading broadcast variable {n} took {n} ms
Input split: hdfs://{ip}:9000/pjhe/test/{n}/part-{n}:{n}+{n}
mapred.tip.id is deprecated. Instead, use mapreduce.task.id
mapred.task.id is deprecated. Instead, use mapreduce.task.attempt.id
Times: total = {n}, boot = {n}, init = {n}, finish = {n}
Saved output of task 'attempt_{n}_0000_m_{six}_{n}' to {path}""",
    "Zookeeper": """
Received connection request /{ip}:{port}
Connection broken for id {n}, my id = {n}, error =
Notification time out: {n}
Send worker leaving thread
Interrupted while waiting for message on queue
Interrupting SendWorker
Accepted socket connection from /{ip}:{port}
Closed socket connection for client /{ip}:{port} which had sessionid 0x{h16}
Closed socket connection for client /{ip}:{port} (no session established for client)
Expiring session 0x{h16}, timeout of {n}ms exceeded
Client attempting to establish new session at /{ip}:{port}
Established session 0x{h16} with negotiated timeout {n} for client /{ip}:{port}
caught end of stream exception
Got user-level KeeperException when processing sessionid:0x{h16} type:create cxid:0x{h8} zxid:0x{h8} txntype:-1 \
reqpath:n/a Error Path:/{word} Error:KeeperErrorCode = NodeExists for /{word}""",
    "OpenSSH": """
Failed password for invalid user {user} from {ip} port {port} ssh2
Failed password for root from {ip} port {port} ssh2
Invalid user {user} from {ip}
input_userauth_request: invalid user {user} [preauth]
Received disconnect from {ip}: 11: Bye Bye [preauth]
pam_unix(sshd:auth): check pass; user unknown
pam_unix(sshd:auth): authentication failure; logname= uid=0 euid=0 tty=ssh ruser= rhost={ip}
pam_unix(sshd:auth): authentication failure; logname= uid=0 euid=0 tty=ssh ruser= rhost={ip}  user=root
reverse mapping checking getaddrinfo for {host} [{ip}] failed - POSSIBLE BREAK-IN ATTEMPT!
Connection closed by {ip} [preauth]
Accepted password for fztu from {ip} port {port} ssh2
PAM {n} more authentication failures; logname= uid=0 euid=0 tty=ssh ruser= rhost={ip}  user=root
Did not receive identification string from {ip}
fatal: Write failed: Connection reset by peer [preauth]""",
    "Apache": """
jk2_init() Found child {n} in scoreboard slot {n}
jk2_init() Can't find child {n} in scoreboard
workerEnv.init() ok {path}
mod_jk child workerEnv in error state {n}
mod_jk child init {n} {n}
[client {ip}] Directory index forbidden by rule: {path}""",
    "Linux": """
authentication failure; logname= uid=0 euid=0 tty=NODEVssh ruser= rhost={host}
authentication failure; logname= uid=0 euid=0 tty=NODEVssh ruser= rhost={host}  user=root
session opened for user {user} by (uid={n})
session closed for user {user}
connection from {ip} ({host}) at {day}
check pass; user unknown
ALERT exited abnormally with [{n}]
Kerberos authentication failed
Out of Memory: Killed process {n} ({program}).
ANONYMOUS FTP LOGIN FROM {ip}, (anonymous)
Received SNMP packet(s) from {ip}""",
    "Android": """
acquire lock={n}, flags=0x{h2}, tag="*launch*", name=android, ws=WorkSource{{{n}}}, uid={n}, pid={n}
release lock={n}, flg=0x{h2}, tag="*launch*", name={pkg}, ws=null, uid={n}, pid={n}
setSystemUiVisibility vis={n} mask={n} oldVal={n} newVal={n} diff={n}
cancelNotification,index:{n}
cancelNotificationLocked called from:{pkg}
Skipping AppWindowToken{{{h8} token=Token{{{h8} ActivityRecord{{{h8} u0 {pkg}/.Main t{n}}}}}}} -- going to hide
setLightsOn({bool})
getRunningAppProcesses: caller {n} does not hold REAL_GET_TASKS; limiting output
HBM brightnessIn ={n}
HBM brightnessOut ={n}
getTasks: caller {n} does not hold REAL_GET_TASKS; limiting output
ready={bool},policy={n},wakefulness={n},wksummary=0x{h2},uasummary=0x{h2},mode={bool},auto={n}""",
    "Hadoop": """
Progress of TaskAttempt attempt_{big}_{four}_m_{six}_0 is : {f}
Created MRAppMaster for application appattempt_{big}_{four}_{six}
Address change detected. Old: msra-sa-41/{ip}:{port} New: msra-sa-41:{port}
Retrying connect to server: msra-sa-41:{port}. Already tried {n} time(s); retry policy is \
RetryUpToMaximumCountWithFixedSleep(maxRetries={n}, sleepTime={n} MILLISECONDS)
Failed to renew lease for [DFSClient_NONMAPREDUCE_{n}_1] for {n} seconds. Will retry shortly ...
TaskAttempt: [attempt_{big}_{four}_m_{six}_0] using containerId: [container_{big}_{four}_01_{six} on NM: [{host}:{port}]
JVM with ID : jvm_{big}_{four}_m_{six} asked for a task
task_{big}_{four}_m_{six} Task Transitioned from SCHEDULED to RUNNING
task_{big}_{four}_m_{six} Task Transitioned from NEW to SCHEDULED
attempt_{big}_{four}_m_{six}_0 TaskAttempt Transitioned from NEW to UNASSIGNED
ERROR IN CONTACTING RM.
Assigned container container_{big}_{four}_01_{six} to attempt_{big}_{four}_m_{six}_0""",
    "HPC": """
Fan speeds ( {n} {n} {n} {n} {n} {n} )
Temperature ({n}) exceeds warning threshold
ServerFileSystem: An ServerFileSystem domain panic has occurred on storage{n}
Targeting domains:node-D{n} and nodes:node-[{n}-{n}] child of command {n}
boot (command {n}) Error: waitpid: task failed
ambient={n}
Link error on broadcast tree Interconnect-{n}T{n}:{n}:{n}:{n}
node-{n} has detected an available network connection on network {ip} via interface alt0
psu failure ambient={n}""",
    "Mac": """
ARPT: {f}: wl0: wl_update_tcpkeep_seq: Original Seq: {n}, Ack: {n}, Win size: {n}
ARPT: {f}: wl0: setup_keepalive: Local port: {port}, Remote port: {port}
[HID] [MT] AppleMultitouchDevice::willTerminate entered
Thunderbolt HPD packet for route = 0x0 port = {n} unplug = {n}
en0: channel changed to {n}
PM response took {n} ms ({n}, powerd)
AirPort: Link Down on awdl0. Reason {n} (Unspecified).
AirPort: Link Up on awdl0
Previous sleep cause: {n}
Unexpected payload found for message {n}, dataLen {n}""",
    "Thunderbird": """
session opened for user root by (uid={n})
(root) CMD (run-parts /etc/cron.hourly)
data_thread() got not answer from any [Thunderbird_{cab}] datasource
DHCPDISCOVER from {mac} via eth1: network A_network: no free leases
Accepted publickey for root from ::ffff:{ip} port {port} ssh2
synchronized to {ip}, stratum {n}
Connection from {ip} port {port}
to=root, ctladdr=root (0/0), delay=00:00:{n}, mailer=relay, pri={n}, relay=[{ip}], stat=Deferred
Temperature above threshold on CPU{n}
Losing some ticks... checking if CPU frequency changed.""",
    "Windows": r"""
Loaded Servicing Stack v6.1.7601.{n} with Core: C:\Windows\winsxs\amd64_stack_{h16}_6.1_none_{h16}\cbscore.dll
SQM: Initializing online with Windows opt-in: False
SQM: Failed to start upload with file pattern: C:\Windows\sqm\*_std.sqm, flags: 0x2 [HRESULT = 0x{h8} - E_FAIL]
SQM: Failed to start standard sample upload. [HRESULT = 0x{h8} - E_FAIL]
Warning: Unrecognized packageExtended attribute.
Session: {n}_{n} initialized by client WindowsUpdateAgent.
Read out cached package applicability for package: Package_for_KB{n}~31bf3856ad364e35~amd64~~6.1.1.{n}, \
ApplicableState: {n}, CurrentState:{n}
{H8}@2016/9/28:{clock}.744 CSI Transaction @0x{h8} initialized for deployment engine with flags {h8}
Created NT transaction (seq {n}) result 0x{h8}, handle @0x{h2}""",
    "HealthApp": """
onStandStepChanged {n}
onExtend:{n} {n} {n} {n}
calculateCaloriesWithCache totalCalories={n}
calculateAltitudeWithCache totalAltitude={n}
getTodayTotalDetailSteps = {n}##{n}##{n}##{n}##{n}##{n}
setTodayTotalDetailSteps={n}##{n}##{n}##{n}##{n}##{n}
processHandleBroadcastAction action:android.intent.action.{action}
REPORT : {n} {n} {n} {n}
flush sensor data""",
    "Proxifier": """
{host}:{port} open through proxy proxy.cse.cuhk.edu.hk:5070 HTTPS
{host}:{port} open through proxy proxy.cse.cuhk.edu.hk:5070 SOCKS5
{host}:{port} close, {sized} sent, {sized} received, lifetime {lifetime}
{host}:{port} error : Could not connect through proxy {host}:5070 - Proxy server cannot establish a connection
{host}:{port} error : A connection request was canceled before the completion.""",
    "OpenStack": """
[instance: {uuid}] VM Started (Lifecycle Event)
[instance: {uuid}] VM Paused (Lifecycle Event)
[instance: {uuid}] VM Stopped (Lifecycle Event)
{ip} "GET /v2/{h32}/servers/detail HTTP/1.1" status: 200 len: {n} time: {f}
{ip} "POST /v2/{h32}/os-server-external-events HTTP/1.1" status: 200 len: {n} time: {f}
image {uuid} at ({path}): checking
Active base files: {path}
[instance: {uuid}] Total memory: {n} MB, used: {f} MB
[instance: {uuid}] memory limit: {f} MB, free: {f} MB
[instance: {uuid}] Took {f} seconds to spawn the instance on the hypervisor.
Creating event network-vif-plugged:{uuid} for instance {uuid}
HTTP exception thrown: No instances found for any event""",
}


def lines_of(name: str, count: int, seed: int = 0) -> Iterator[Labelled]:
    random = Random(seed)
    known = FORMATS[name].strip().splitlines()
    for template in random.choices(known, [1 / (place + 3) for place in range(len(known))], k=count):
        yield Labelled(template, filled(template, random))
