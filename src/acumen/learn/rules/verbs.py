"""English verbs: a lexicon of common ones, and the forms they take."""

from functools import cache

_REGULAR = """
hand head loop nudge page reroute resend restate retitle skim tally vet double-check triple-check cross-check
abandon abbreviate abort accept access accompany account acknowledge act activate adapt add address adjust admit adopt
advise afford aggregate agree aim alert align allow alter alternate analyse analyze annotate announce annoy answer
anticipate apologise apologize appear append apply appreciate approach approve archive argue arrange arrive ask
assemble assert assess assign assist assume assure attach attempt attend audit authenticate authorize automate avoid
back bake balance ban base batch behave believe belong benchmark bill block book boost bother bounce branch brief
browse bug bump bundle cache calculate call cancel capitalise capitalize care carry cause celebrate change charge
chart chase chat check circulate cite claim clarify classify clean clear click climb clone close code collaborate
collapse collect color colour combine comment commit communicate compare compete compile complain complete comply
compose compress compute concern conclude condense configure confirm confuse connect consider consist consolidate
construct consult consume contact contain continue contribute control convert convince cook copy correct cost count
cover crash crawl create credit cross customise customize cycle damage dance debug decide declare decline decode
decorate decrease dedicate default defer define delay delegate delete deliver demand demonstrate deny depend deploy
deprecate derive describe deserve design destroy detail detect determine develop diagnose die differ digest direct
disable disagree disappear discard disclose disconnect discount discover discuss dislike dismiss dispatch display
dispute disregard distinguish distribute divide document donate double download draft drain drop dump duplicate earn
edit educate elaborate email embed emphasise emphasize employ enable encode encourage encrypt end enforce engage enjoy
enrich ensure enter escalate escape establish estimate evaluate examine exceed exchange exclude execute exercise exist
expand expect expedite expire explain explore export expose express extend extract face facilitate fail fetch file
fill filter finalise finalize finish fit fix flag flatten float flush focus follow force forecast format forward frame
freeze function gather generate govern grab grade greet group guarantee guard guess guide handle happen hate help
highlight hire hope hurry identify ignore illustrate implement imply import improve include incorporate increase
increment indent index indicate inform inherit initialise initialize inject insert insist inspect install instruct
integrate intend interact interest interpret interrupt introduce invest investigate invite invoice involve isolate
issue iterate jog join joke judge jump justify kick kill label lack land last launch learn lecture level like limit
line link lint list listen load localise localize locate lock log look love lower mail maintain manage map mark market
match matter maximise maximize measure mention merge message migrate mind minify minimise minimize miss mix mock model
modify monitor mount move mute name narrow need negotiate nest normalise normalize note notice notify number obey
object observe obtain occur offer omit open operate optimise optimize order organise organize outline output overlook
overuse owe own pack package paginate paraphrase park parse partition pass paste patch pause perform permit persist
phone phrase pick pin ping pipe place plan plant play please plot point poll populate position post postpone practice
practise pray predict prefer prefix prepare prescribe present preserve press prevent preview price print prioritise
prioritize process produce profile program project promise promote prompt proofread propose protect prove provide
provision prune publish pull purchase purge push qualify question queue quote raise rank rate reach react realise
realize rebase rebuild recall receive recheck recommend reconcile record recover recreate redact redirect reduce
refactor refer refine reformat refresh refund refuse regard register reject relate relax release relocate rely remain
remember remind remove rename render renew rent reopen reorder reorganize repair repeat rephrase replace replicate
reply report represent reproduce request require reschedule research reserve reset resign resize resolve respect
respond restart restore restrict restructure result resume retain retire retrieve retry return reuse reveal revert
review revise revoke reword rollback rotate round route sanitise sanitize satisfy save scale scan schedule scope score
scrape screen scroll scrub search seat secure seed select separate serialise serialize serve settle share shift ship
shop shorten shout sign signal simplify simulate skip slow smoke snooze soften solve sort sound source specify spell
split squash stage standardise standardize stamp start state stay step stick stop store stream stress stretch
structure study subclass submit subscribe substitute subtract suffer suggest suit summarise summarize supply support
suppose suppress surprise suspend swap swim switch sync tabulate tag talk target taste tell tend terminate test text
thank throttle tidy time toggle track trade train transfer transform translate transmit travel treat trigger trim
trust try tune turn type undo unify uninstall unsubscribe update upgrade upload urge use utilise utilize validate
value vary verify version view violate visit visualise visualize vote wait walk want warm warn wash waste watch water
weigh welcome whitelist wipe wish wonder work worry wrap yell zip abstract babysit bike bold capture commute
concatenate contract cc dockerize graduate hike homeschool juggle meditate milk mentor mansplain overcomplicate
overexplain patronize pluralize punctuate refrain cease favor favour touch anonymize anonymise suffix lead-in bcc
backfill bisect cherry-pick downgrade hardcode hard-code inline pseudonymize snapshot stub template uppercase
lowercase onboard offboard outsource overcharge underestimate overestimate reimburse reassure recap recite rehearse
reinstall repay repurpose rethink reward rinse ripen rollout rush salt scold season shower sip snack soak spare squat
sponsor stall steam stir stomp strip suck sue sum surrender survive swear sweat swipe tackle tailor tap taper tease
tempt tighten tip toast tolerate top tour toy trace transcribe treadmill triage troubleshoot tuck tweak unblock
undergo unlock unpack untangle unwind vacation vaccinate vent void vow wander warrant weave weed whip widen wrestle
admire adore advertise age amend amuse appoint ask-for attract avenge await axe bank beat beg blame blend bless blog
blur boil borrow bow brag brainstorm breathe broadcast brush bully burn bury campaign camp cap catalog cater caution
chew chill chop chunk circle clip coach coat comb comfort command commission compensate conceal concede conduct
confess conserve contest cope correspond counsel crack crave crop crush cry curate cure curse dare dash date
deactivate debate debit deceive deduct deduplicate deem delight depict deposit descend desire detach deter devote
dictate dilute dine disguise dissolve dive dodge dominate doubt drag dress drift drown dry dye echo elect eliminate
embrace emerge enclose endorse endure enlarge enlist enroll entertain equip erase err evolve exaggerate excel excuse
exempt exhaust exhibit exploit extinguish fade fancy fast fasten fear fire flip flood flow fold fool forbid foster fry
fuel fulfill gain gamble gaze glance glue grant grill grind grip halt hammer harm harvest heal heat hook host house
hug hunt hydrate imitate impact impose impress imprison inhale initiate injure inquire insulate insult insure
intervene itemize itemise jail jot knock lean leap lick lift litter live loop manipulate manufacture march massage
mature melt memorize memorise mend motivate mourn multiply mumble nag nail nod nominate nurse nurture obsess obstruct
offend oppose outrank overdo overload override panic pat peel perceive persuade pet pile pinch pitch plead pledge plug
poke polish portray pose possess pour praise preach precede proceed proclaim procrastinate profit progress prohibit
prolong pronounce protest provoke pump punch punish pursue puzzle quantify quarantine race rebook rebrand reclaim
recognise recognize recruit recycle reflect refill reimplement reinforce relabel remedy remit repackage rescue
resemble resent reside resist resort restock retest retract retype reverse rid rip risk roam rob roll rot row rub ruin
rule sample sack scare scatter scoop scratch screw seal segment seize sense sentence shade shape shave shelve shine
shiver shock shred shrug signify sketch slam slice slide slip smell smile snap sneeze snow soothe spark spill spoil
spot spray sprint squeeze stack staff stain stare steer stockpile strain strategize strengthen strive stroke stuff
subtitle sustain swallow sway symbolize sympathize tag-team tame tape tax team telephone thicken threaten thrive tick
tie tire torture toss toughen tow tumble twist unite unload upset utter veto volunteer wag wage whine whistle withhold
withstand worsen yawn ramble ration redo remodel repost reprint rerender resell roast run-through screenshot
specialise specialize stutter sugarcoat tweet underline whisper knit garden paint rock sail sew sing surf ski struggle
tutor supervise oversee
""".split()

# base, third person (when odd), past, participle
_IRREGULAR = """
be is was been|have has had had|do does did done|go goes went gone|become _ became become|begin _ began begun
bend _ bent bent|bet _ bet bet|bind _ bound bound|bite _ bit bitten|bleed _ bled bled|blow _ blew blown
break _ broke broken|breed _ bred bred|bring _ brought brought|build _ built built|buy _ bought bought
catch _ caught caught|choose _ chose chosen|come _ came come|cost _ cost cost|cut _ cut cut|deal _ dealt dealt
dig _ dug dug|draw _ drew drawn|drink _ drank drunk|drive _ drove driven|eat _ ate eaten|fall _ fell fallen
feed _ fed fed|feel _ felt felt|fight _ fought fought|find _ found found|fly _ flew flown|forget _ forgot forgotten
forgive _ forgave forgiven|freeze _ froze frozen|get _ got gotten|give _ gave given|grow _ grew grown|hang _ hung hung
hear _ heard heard|hide _ hid hidden|hit _ hit hit|hold _ held held|hurt _ hurt hurt|keep _ kept kept
know _ knew known|lay _ laid laid|lead _ led led|leave _ left left|lend _ lent lent|let _ let let|lie _ lay lain
light _ lit lit|lose _ lost lost|make _ made made|mean _ meant meant|meet _ met met|override _ overrode overridden
overwrite _ overwrote overwritten|pay _ paid paid|put _ put put|quit _ quit quit|read _ read read|rerun _ reran rerun
rewrite _ rewrote rewritten|redo redoes redid redone|reset _ reset reset|ride _ rode ridden|ring _ rang rung
rise _ rose risen|run _ ran run|say _ said said|see _ saw seen|seek _ sought sought|sell _ sold sold|send _ sent sent
set _ set set|shake _ shook shaken|shoot _ shot shot|show _ showed shown|shut _ shut shut|sing _ sang sung
sit _ sat sat|sleep _ slept slept|speak _ spoke spoken|speed _ sped sped|spend _ spent spent|spin _ spun spun
spread _ spread spread|split _ split split|stand _ stood stood|steal _ stole stolen|stick _ stuck stuck
swim _ swam swum|take _ took taken|teach _ taught taught|tell _ told told|think _ thought thought|throw _ threw thrown
understand _ understood understood|undo undoes undid undone|wake _ woke woken|wear _ wore worn|win _ won won
withdraw _ withdrew withdrawn|write _ wrote written|live _ lived lived|oversee _ oversaw overseen
proofread _ proofread proofread|rebuild _ rebuilt rebuilt|resell _ resold resold|overcome _ overcame overcome
mislead _ misled misled|misread _ misread misread
"""

# Longer verbs whose last syllable is stressed double their last letter, as the short ones do.
_DOUBLING = frozenset(
    "admit begin commit control debug defer embed forget format occur omit permit prefer refer rerun reset "
    "submit".split()
)
_VOWELS = "aeiou"

MODALS = frozenset("can could may might must shall should will would ought".split())


@cache
def third_person(verb: str) -> str:
    """Work → works; be → is; modals stay as they are."""
    if verb in MODALS:
        return verb
    if verb in _ODD_THIRD:
        return _ODD_THIRD[verb]
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return verb + "es"
    if verb.endswith("y") and verb[-2:-1] not in _VOWELS:
        return verb[:-1] + "ies"
    return verb + "s"


@cache
def gerund(verb: str) -> str:
    """Deploy → deploying; write → writing; run → running."""
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")) and verb != "be":
        return verb[:-1] + "ing"
    return verb + verb[-1] + "ing" if _doubles(verb) else verb + "ing"


def _past(verb: str) -> str:
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2:-1] not in _VOWELS:
        return verb[:-1] + "ied"
    return verb + verb[-1] + "ed" if _doubles(verb) else verb + "ed"


def _doubles(verb: str) -> bool:
    if verb in _DOUBLING:
        return True
    if len(verb) < 3 or verb[-1] in _VOWELS + "wxy" or verb[-2] not in _VOWELS or verb[-3] in _VOWELS:
        return False
    return sum(letter in _VOWELS for letter in verb) == 1


def _tables() -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Odd third persons; every form with its base; every past form or participle with its base."""
    odd: dict[str, str] = {}
    bases: dict[str, str] = {}
    pasts: dict[str, str] = {}
    rows = [row.split() for row in _IRREGULAR.replace("\n", "|").split("|") if row]
    irregular = {row[0] for row in rows}
    for base, third, *past in rows:
        if third != "_":
            odd[base] = third
        pasts.update(dict.fromkeys(past, base))
    for base in _REGULAR:
        if base not in irregular:
            pasts[_past(base)] = base
    pasts["founded"] = "found"
    _ODD_THIRD.update(odd)
    for base in [*irregular, *_REGULAR]:
        bases.update({third_person(base): base, gerund(base): base})
        if base.endswith("l") and base[-2] in _VOWELS:
            bases.update({base + "ling": base, base + "led": base})
    bases.update(pasts)
    bases.update({base: base for base in [*irregular, *_REGULAR]})
    bases.update({"are": "be", "am": "be", "were": "be", "was": "be"})
    return odd, bases, pasts


_ODD_THIRD: dict[str, str] = {}
_, _BASES, _PASTS = _tables()
BASE_FORMS = frozenset(base for form, base in _BASES.items() if form == base)


def base(form: str) -> str | None:
    """The verb a word is a form of, or None when it is not a verb we know."""
    return _BASES.get(form) or (form if is_base(form) else None)


def is_base(word: str) -> bool:
    """Whether the word is a verb as a command shows it; endings that only verbs have count too."""
    return word in BASE_FORMS or (len(word) > 6 and word.endswith(("ize", "ify")))


def is_past(word: str) -> bool:
    """Whether the word is a past tense or participle that differs from its base."""
    return word in _PASTS and word not in BASE_FORMS


def is_gerund(word: str) -> bool:
    return word.endswith("ing") and _BASES.get(word, word) != word


def is_third(word: str) -> bool:
    known = _BASES.get(word)
    return known is not None and known != word and third_person(known) == word
