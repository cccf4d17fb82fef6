// The words of questions: those that say little, those that mean the same, and the frames that tell kinds of questions.

/** Words that say little about what is asked: first those by which questions begin, then the others. */
const QUESTION_WORDS =
  "what whats which why how who whom whose when where does is are can could do did will would should must may " +
    "might if ";

export const COMMON = new Set(
  (
    QUESTION_WORDS +
    "a about actual actually all allow allowed also am an and another any anybody anyone anything around as ask at " +
    "away be became because become been being between both but by call called came come comes consider considered " +
    "couple d dear define depend didnt difference differences different doesnt doing done dont each either else " +
    "even ever every everybody everyone exact exactly exist for from gave get getting give given gives go goes " +
    "going gone got great had handle happen happened happens has have having he hello her here hey hi him his hows " +
    "i ill im in info inside into isnt it itll its ive just kind know known knows let lets like likes ll " +
    "lose lost lots many me mean meaning means mine more most much my myself named need needs nice none not now of " +
    "ok on once one ones only or other others our out over perhaps please point possible possibly pretty put quite " +
    "raw re really regarding responsible run running runs s say see seem seems seen sees shall she show showing " +
    "shows so some somebody someone something sometimes somewhere speak still stuff such support supported t take " +
    "taken takes tell than thank thanks that thats the their them then there theres these they thing things think " +
    "this those though through to together too total try trying understand up us use used uses using usually ve " +
    "very via want wanted wants was way ways we went were wether whether while with within wont work working works " +
    "yes yet you your youre yourself "
  ).trim().split(" "),
);

/** Words of one kind in each line; the first is their name. */
export const KINDS = [
  "save download export store keep print",
  "picture image figure chart plot graphic diagram screenshot visualization visualisation graph",
  "word term",
  "previous before preceding prior earlier",
  "next after subsequent",
  "later upcoming ahead future coming",
  "backward back left",
  "reverse opposite reversed backwards flipped inverted reversing",
  "shuffle scramble jumble mix mixed shuffled scrambled rearrange reorder swap swapped",
  "order sequence",
  "remove throw delete drop disable ablate kill cut knock deactivate removing deleting removed deleted dropping",
  "off turn switch",
  "without no lacking missing",
  "important necessary required matter matters affect affects influence influences needed crucial relevant significant essential importance",
  "translation translate translated translating translates translator output result",
  "write wrote written writing writes said says saying produce generate",
  "choose chose chosen choosing choice pick picked select selected decide decides decided",
  "wrong inaccurate unnatural odd mistake mistakes error errors bad incorrect false fail fails failed poor nonsense weird strange terrible worse worst awful garbage rubbish stupid",
  "good accurate accuracy quality performance well",
  "sure certain confident confidence certainty",
  "unsure struggle struggled trouble uncertain hesitate hesitated doubt doubtful hesitant unsureness",
  "likely probability likelihood probable chance",
  "hard hardest difficult hardes trickiest tricky",
  "trust believe believed faithful faithfulness reliable honest true truth explanation explain explains explained interpretable interpretability trustworthy",
  "share post tweet twitter mail email send link url links sharing shared",
  "present presentation projector fullscreen slides slide lecture class talk audience beamer stage classroom teaching",
  "embed iframe website webpage web blog site homepage html",
  "notebook jupyter colab ipython",
  "python script api programming program package library module",
  "compute computed computes calculate calculated calculates calculation computation",
  "pale blank empty white",
  "subword subwords piece pieces wordpiece wordpieces",
  "own custom",
  "language languages english german french spanish italian chinese japanese russian portuguese dutch arabic korean polish turkish hindi latin greek swedish danish czech multilingual bilingual",
  "internet offline online wifi cloud network connection",
  "machine computer laptop browser gpu cpu device hardware pc processor tpu mac windows linux",
  "privacy private stored logged tracked collected gdpr confidential secret cookies secure security safe",
  "free cost price pay licence license commercial copyright",
  "author authors creator creators developer developers built inventor invented company university maker makers",
  "made created make makes creating",
  "train trained training learned learnt",
  "dataset data corpus datasets texts",
  "maximum max limit longest maximal",
  "long length lengthy short",
  "compare comparison versus vs differ differs comparing compared",
  "grey gray greyed grayed hatched hatching striped stripes shaded",
  "color colour colors colours coloring dark darker blue bright brighter",
  "cell cells square squares box boxes field pixel pixels tile tiles",
  "position positions positional encoding encodings pe",
  "heatmap matrix map",
  "parameter parameters params parametres",
  "size big large huge small",
  "video gif film animation movie mp4 webm animated",
  "csv excel spreadsheet json npz numbers",
  "pdf png svg vector",
  "phone mobile phones tablet smartphone",
  "underline underlined dotted underlines",
  "number count amount",
  "sentence text texts",
  "look looks looking looked gaze attend attends attending focus focuses follow follows watch pay",
  "fast speed quick slow seconds latency faster",
  "specialise specialised specialize specialized role roles job jobs function purpose",
  "connect align aligns alignment match matches connects connecting pair pairs",
  "similar alike same identical redundant duplicate",
  "alternative alternatives alternatively otherwise instead option options",
  "second runner",
  "punctuation comma commas period dot stop fullstop",
  "repeat repeated repeats duplicate twice again",
  "itself themself themselves self oneself",
  "several multiple",
  "huggingface hugging bert gpt gpt2 llama t5 marian pytorch roberta mistral gemma qwen bart deberta xlnet",
  "chatgpt openai claude gemini copilot",
  "upload import load",
  "file files",
  "paper papers reference references documentation docs literature publication",
  "mask masked masking masks",
  "hide hidden hiding hides invisible",
  "change changes changed",
  "everything everywhere",
  "zoom enlarge magnify bigger larger",
  "undo revert restore reset",
  "keyboard shortcut shortcuts hotkey hotkeys",
];

/** Kinds of questions by how they are put, most particular first; each tested on plain words between spaces. */
/** @type {[kind: string, frame: RegExp][]} */
export const FRAMES = [
  ["count", / (how many|number of|how much|count) /],
  ["if", / (what if|what happens|what would|what will happen|suppose|without|if i|if it|if the|if you) /],
  ["why", / (why|how come|reason) /],
  ["mean", / (explain|define|meaning|definition|means?|whats|what (exactly |really |even )?(is|are|am)|what a|difference between|what (do|does) .+ do|what .+ for) /],
  ["do", / (how (do|can|could|would|should|to) (i|you|we|one)?|how to|can i|could i|may i|can we|can you|is there a way|possible to|i want|id like|would like|let me|where (can|do|is)) /],
  ["which", / (which|what head|what word|what token|what language|what layer|who|where|when) /],
  ["fact", / (how|is|are|does|do|can|has|was|will|did) /],
];
