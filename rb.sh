cargo bench -j2 --bench counting --no-default-features -- --warm-up-time 0.5 --measurement-time 1 "$@" 2>&1 | python3 -c "
import sys,re
name=None
for l in sys.stdin:
    l=l.rstrip()
    if l.startswith(('error','thread')): print(l)
    m=re.match(r'^(\S.*?)\s*time:\s+\[(.*)\]',l) or re.match(r'^()\s+time:\s+\[(.*)\]',l)
    if m:
        print((m[1] or name or '').ljust(70), m[2].split(' ')[2:4])
    elif l and not l.startswith((' ','Bench')): name=l
"
