// What Learn says of each algorithm: its idea, its pseudo-code as rank r runs it, and where a number
// of ranks that is no power of two bites. A line of code names the kinds of steps that it stands for,
// so that the line lights up when such a step runs; and, where several lines have steps of one kind,
// which of them: a question about what the step does (doing.js). Facts about costs are the library's.

const line = (text, ...kinds) => {
  const when = typeof kinds.at(-1) === "function" ? kinds.pop() : null;
  return { text, kinds, when };
};

const PART = (its) => !its.givesWhole;
const WHOLE = (its) => its.givesWhole;
const OWN = (its) => !its.givesTaken;
const ON = (its) => its.givesTaken;
const INTO = (buffer) => (its) => its.writes === buffer;
const serverOf = (rank, its) => Math.floor(rank / its.groupSize);
const INSIDE = (its) => serverOf(its.rank, its) === serverOf(its.from ?? its.to, its);
const ACROSS = (its) => !INSIDE(its);
// Of a scatter chunk q goes to rank q, along with others; of the ring after it never.
const DEALT = (its) => (its.to === undefined ? its.taken.includes(its.rank) : its.given.includes(its.to));
const AROUND = (its) => !DEALT(its);
// Recursive doubling pairs the first ranks, and the even ones of these sit out.
const sitsOut = (rank, { p }) => rank % 2 === 0 && rank < 2 * (p - 2 ** Math.floor(Math.log2(p)));

const SEND = "send";
const RECV = "recv";
const COPY = "copy";
const REDUCE = "reduce";
const ADD = "recv_reduce";
const PASS = "recv_copy_send";
const ADD_PASS = "recv_reduce_copy_send";

const ANY_P = "It needs no power of two: nothing in it halves.";
const HALVES = "When p is no power of two the halves differ by one, and some rank of the smaller half serves two of the larger in the same round. Try 5 or 6 ranks and look for it.";

// What each collective is for, in a sentence.
export const GOALS = {
  all_reduce: "every rank has numbers of its own, and in the end all ranks have their sum.",
  reduce: "every rank has numbers of its own, and in the end the root has their sum.",
  broadcast: "the root has data, and in the end all ranks have it.",
  all_gather: "every rank has a block, and in the end all ranks have all blocks.",
  reduce_scatter: "every rank has a contribution to every block, and in the end each rank has the sum of one block.",
  all_to_all: "every rank has a block for every other, and in the end each has the blocks that were meant for it.",
  gather: "every rank has a block, and in the end the root has all of them.",
  scatter: "the root has a block for every rank, and in the end each rank has its own.",
  barrier: "no rank goes on before all have come.",
  send_recv: "one rank has data, and in the end another one has it.",
};

const TREES_DOWN = [line("the root of a tree: send the pieces of its share to each child", SEND, OWN), line("everyone else: take a piece", RECV, PASS), line("  and pass it to my children in that tree", SEND, PASS, ON), line("keep my own data", COPY)];
const TREES_UP = [line("a leaf of a tree: send the pieces of my contribution up", SEND), line("take a child's sum and add mine", ADD), line("  with the last child's: add and pass it up", ADD_PASS)];
const ANY_MACHINE = "It needs no power of two, and no regular machine either: trees are packed for the links that are there. Take a link away on the Machine view and look again.";

const QUICK = "Packed trees are as deep as it takes to fill every link. A short message does not fill links; its time is the latency of the way. So here each rank is hung where the data comes first, with the messages counted that a link has to carry before: shallow trees for a short message, fuller links for a longer one.";

// What is made for one machine, and has no lesson of its own.
export const MADE_FOR_A_MACHINE = {
  idea: "This schedule follows no textbook: the library made it for the links of the machine that is chosen, so that they carry as much as they can. Choose another machine, and it is another schedule. The Machine view shows which way the data takes.",
  code: [line("run the steps that were found for rank r:"), line("  send", SEND), line("  take and keep", RECV), line("  take and pass on", PASS),
    line("  take, add mine", ADD), line("  take, add mine, pass on", ADD_PASS, "recv_reduce_send"), line("  copy or add what is here", COPY, REDUCE)],
  odd: ANY_MACHINE,
};

export const LESSONS = {
  "all_reduce/packed": {
    idea: "A ring uses one way through the machine. Here the library packs several spanning trees into the links, so many that no link is left over, and gives each tree its share of the message. In each tree sums go up to a root, results come down again, piece behind piece. How many trees fit is known exactly, and a cut through the machine proves that no schedule can be faster.",
    code: [...TREES_UP.map((its) => (its.kinds.includes(SEND) ? { ...its, when: PART } : its)), line("the root of a tree: send finished pieces down", SEND, (its) => its.givesWhole && !its.givesTaken),
      line("take a result", RECV, PASS), line("  and pass it to my children in that tree", SEND, PASS, (its) => its.givesWhole && its.givesTaken)],
    odd: ANY_MACHINE,
  },
  "reduce/packed": {
    idea: "As many trees towards the root as the links can hold, each with its share of the message. The number of trees is the most that can flow into the root: the smallest cut between it and any other rank says how much that is, and proves it.",
    code: TREES_UP,
    odd: ANY_MACHINE,
  },
  "broadcast/packed": {
    idea: "One tree leaves most links of a machine idle. Here as many trees leave the root as the links can hold, no link twice, and each carries its share of the message in pieces. By a theorem of Edmonds their number is the smallest cut between the root and any other rank, so nothing can be faster.",
    code: TREES_DOWN,
    odd: ANY_MACHINE,
  },
  "all_reduce/quick": {
    idea: QUICK + " Sums go up to a root and results come down again, for a short message by one tree, for a longer one by a tree of every rank, with its share of the message each.",
    code: [...TREES_UP, line("the root of a tree: send finished pieces down", SEND), line("take a result", RECV, PASS), line("  and pass it to my children in that tree", SEND, PASS)],
    odd: ANY_MACHINE,
  },
  "reduce/quick": { idea: QUICK, code: TREES_UP, odd: ANY_MACHINE },
  "broadcast/quick": { idea: QUICK, code: TREES_DOWN, odd: ANY_MACHINE },
  "all_gather/quick": { idea: QUICK + " Every rank has a tree for its block.", code: TREES_DOWN, odd: ANY_MACHINE },
  "reduce_scatter/quick": { idea: QUICK + " Every rank has a tree up which its block is added.", code: TREES_UP, odd: ANY_MACHINE },
  "broadcast/blink": {
    idea: "Trees as the Blink paper packs them: weights on the links are raised where trees already run, until the shares settle; then as few trees as will do are kept. Approximate; compare it with the exact packing.",
    code: TREES_DOWN,
    odd: ANY_MACHINE,
  },
  "all_gather/packed": {
    idea: "Every rank has its own trees, which carry its block to all the others, and all trees of all ranks share the links so that the slowest cut of the machine is always full. Through a switch a tree is one hop deep.",
    code: TREES_DOWN,
    odd: ANY_MACHINE,
  },
  "reduce_scatter/packed": {
    idea: "The trees of the all-gather turned round: contributions to a block flow up its owner's trees and are added on the way.",
    code: TREES_UP,
    odd: ANY_MACHINE,
  },
  "all_reduce/ring": {
    idea: "Cut the message into as many chunks as there are ranks. Each chunk's sum starts at one rank and walks around the ring; every rank adds its own contribution as the sum comes by. After p − 1 hops each rank holds one finished chunk. Then the finished chunks walk around once more. All links are busy in every round, so it moves the least data there can be; but it takes 2(p − 1) rounds.",
    code: [line("send my chunk r to the next rank", SEND), line("p − 1 times:"),
      line("  take a sum from the previous rank, add my contribution, pass it on", ADD_PASS), line("p − 2 times:"),
      line("  take a result, keep it, pass it on", PASS), line("take the last result and keep it", RECV)],
    odd: ANY_P,
  },
  "all_reduce/recursive_doubling": {
    idea: "Ranks whose numbers differ in one bit swap their sums, and both add. After the first round a sum covers two ranks, then four, then eight: log₂ p rounds, the fewest there can be when ranks talk in pairs. But the whole message travels in each of them.",
    code: [line("a rank left over: give my contribution to the neighbour", SEND, (its) => sitsOut(its.rank, its)), line("  the neighbour: take it and add mine", ADD, (its) => sitsOut(its.from, its)),
      line("for bit = 1, 2, 4, … below p, ranks that are not left over:"), line("  send my sum to the partner", SEND, (its) => !sitsOut(its.rank, its) && !sitsOut(its.to, its)),
      line("  take the partner's sum and add it to mine", ADD, (its) => !sitsOut(its.from, its)), line("keep the sum as the result", COPY),
      line("give the result to the neighbour that is left over", SEND, (its) => sitsOut(its.to, its)), line("  a rank left over: take it", RECV)],
    odd: "This is where a power of two is really needed. With 5 ranks, one rank gives its contribution to a neighbour first, sits out, and is told the result at the end: two rounds more.",
  },
  "all_reduce/rabenseifner": {
    idea: "First halve: each rank gives half of its data to a partner in the other half of the ranks and takes the other half to add, then a quarter, and so on, until everybody owns the sum of one chunk. Then the same exchanges run backwards and spread the results. Few rounds like recursive doubling, little data like the ring.",
    code: [line("while my group has more than one rank:"), line("  send the other half's chunks to a rank there", SEND, PART),
      line("  take my half's chunks and add them", ADD), line("the same splits, last one first:"),
      line("  send the results I have", SEND, WHOLE), line("  take the results of the other half", RECV)],
    odd: HALVES,
  },
  "all_reduce/double_tree": {
    idea: "A tree is quick, but its leaves only send and its inner ranks work twice. So there are two trees: who is inside one is a leaf of the other, and each carries half of the message, in pieces that follow one another. Sums go up, results come down, and every rank sends about as much as on a ring, in log p steps.",
    code: [line("for each piece, in both trees:"), line("  a leaf sends its contribution up", SEND, PART), line("  take a child's sum and add mine", ADD),
      line("  take the last child's sum, add, pass it up", ADD_PASS), line("  take the result from the parent", RECV), line("  pass results on to the children", PASS, SEND, WHOLE)],
    odd: "Any number of ranks has two such trees. With an odd number one rank is a leaf in both.",
  },
  "all_reduce/one_shot": {
    idea: "Everyone sends everything to everyone, and each rank adds up by itself. A single round, hence the least time for a tiny message; and p − 1 whole messages for everybody, hence the worst for a large one. All add in the order of ranks, so all get the same bits.",
    code: [line("send my input to every other rank", SEND), line("take every other rank's input", RECV), line("start from my own contribution", COPY), line("add up in the order of ranks", REDUCE)],
    odd: ANY_P,
  },
  "all_reduce/two_shot": {
    idea: "Rank q is made responsible for chunk q. First shot: everyone sends it their contribution to that chunk, and it adds up. Second shot: it sends the result to everyone. Two rounds, and no more data than on a ring, where all ranks can talk to all at once.",
    code: [line("send chunk q to rank q, for every q", SEND, PART), line("take all contributions to my chunk", RECV, (its) => !its.takesWhole), line("start from my own contribution", COPY), line("add up in the order of ranks", REDUCE),
      line("send my result to every other rank", SEND, WHOLE), line("take the other results", RECV, (its) => its.takesWhole)],
    odd: ANY_P,
  },
  "all_reduce/pull": {
    idea: "For ranks on one machine, which can read each other's memory. The owner of a chunk reads the others' contributions where they lie and adds them one after the other; nothing is copied first. Then everyone reads the results.",
    code: [line("offer my contributions to their owners", SEND, PART), line("for every other rank: read its contribution to my chunk and add it", ADD), line("offer my result to everyone", SEND, WHOLE), line("read the other results", RECV)],
    odd: ANY_P,
  },
  "all_reduce/pull_all": {
    idea: "For short messages on one machine: every rank reads everyone's input where it lies and adds it up by itself. More reading and adding than necessary, but only one hand-over between ranks.",
    code: [line("offer my input to everyone", SEND), line("read the first input", RECV), line("for every other rank: read its input and add it", ADD), line("add my own when its turn comes", REDUCE)],
    odd: ANY_P,
  },
  "all_reduce/two_level": {
    idea: "Inside a server links are fast, between servers they are slow. So first add up inside every server, each rank for its own share; then let the owners of a share in all servers reduce it over the network; then spread the results inside. Each byte crosses the network as rarely as it can.",
    code: [line("inside the server: send each share to its owner", SEND, (its) => INSIDE(its) && PART(its)), line("add up the shares I own", ADD, INSIDE), line("between servers: halve and double with the other owners of my share", SEND, ADD, RECV, ACROSS),
      line("inside the server: send my share's result to my neighbours", SEND, (its) => INSIDE(its) && WHOLE(its)), line("take theirs", RECV, INSIDE)],
    odd: "A last server with fewer ranks is common; its ranks own several shares each.",
  },
  "reduce/binomial": {
    idea: "A knock-out tournament: in every round half of the ranks that still hold a sum give it to the other half. After log₂ p rounds only the root has one, and it is complete.",
    code: [line("for each child, the smallest subtree first:"), line("  take its sum and add mine", ADD), line("  with the last child's: add and pass on to my parent", ADD_PASS), line("without children: send my contribution to my parent", SEND)],
    odd: "The two halves of a tree may differ by one; the number of rounds is log₂ p rounded up.",
  },
  "reduce/reduce_scatter_gather": {
    idea: "Let all ranks share the adding: chunks walk around the ring and collect contributions until every rank has one finished chunk; then the root gathers the chunks up a tree.",
    code: [line("send a contribution to the next rank", SEND, PART), line("take a sum, add mine, pass it on", ADD_PASS), line("take the sum of my own chunk and add mine", ADD), line("gather: take my children's chunks", RECV), line("  and send all to my parent", SEND, WHOLE)],
    odd: ANY_P,
  },
  "reduce/chain": {
    idea: "A bucket brigade towards the root. The message is cut into pieces; while a rank adds to one piece the next one is already on its way to it. With many pieces all links work all the time.",
    code: [line("the far end: send the pieces one by one", SEND), line("in between: take a sum, add mine, pass it on", ADD_PASS), line("the root: take a sum and add mine", ADD)],
    odd: ANY_P,
  },
  "reduce/pull": {
    idea: "On one machine the root can simply read the others' memory: it adds everyone's contribution to its own, one rank after the other.",
    code: [line("everyone else: offer my input", SEND), line("the root: for every rank, read its input and add it", ADD)],
    odd: ANY_P,
  },
  "reduce/spread": {
    idea: "On one machine, with all ranks at work: rank q reads chunk q of everyone's input where it lies, adds up, and gives the sum to the root. A GPU writes the sum straight into the root's output.",
    code: [line("offer my contributions to their owners", SEND, PART), line("for every other rank: read its contribution to my chunk and add it", ADD), line("offer my sum to the root", SEND, WHOLE), line("the root: read the other sums", RECV)],
    odd: ANY_P,
  },
  "broadcast/binomial": {
    idea: "Whoever knows the message tells one who does not. The number of ranks that know it doubles every round, so log₂ p rounds reach everybody.",
    code: [line("the root: keep a copy", COPY), line("take the message", RECV, PASS), line("for each child, the largest subtree first: send it", SEND, PASS)],
    odd: "The last round reaches fewer ranks than it could. Try 5 ranks: the third round is there for one rank alone.",
  },
  "broadcast/chain": {
    idea: "A bucket brigade: the message is cut into pieces, and every rank passes one piece on while the next comes in. A long message reaches the last rank hardly later than the first.",
    code: [line("the root: keep a copy", COPY), line("the root: send the pieces one by one", SEND), line("in between: take a piece and pass it on", PASS), line("the last: take a piece", RECV)],
    odd: ANY_P,
  },
  "broadcast/scatter_all_gather": {
    idea: "The root need not send the whole message again and again. It deals out different chunks down a tree; then the ranks exchange chunks around a ring until everyone has all. Twice the data, but spread over all ranks.",
    code: [line("the root: keep a copy", COPY), line("scatter: take the chunks of my subtree", RECV, DEALT), line("  and send each child its part", SEND, DEALT), line("ring: send the next rank chunks that it lacks", SEND, AROUND), line("  take a chunk, keep it, pass it on", PASS), line("  take the last ones", RECV, AROUND)],
    odd: "Chunks are cut to the number of ranks, whatever it is; only the tree is uneven.",
  },
  "broadcast/double_tree": {
    idea: "Two trees, each with half of the message, built so that a rank that forwards in one is a leaf in the other. So nobody sends more than the message once, and the depth is log p.",
    code: [line("the root: keep a copy", COPY), line("the root: feed both trees, piece by piece", SEND, OWN), line("take a piece", RECV, PASS), line("  and pass it to my children in that tree", SEND, PASS, ON)],
    odd: "Any number of ranks has two such trees.",
  },
  "broadcast/direct": {
    idea: "The root sends to everyone at once. One round; but all the data leaves through the root's link.",
    code: [line("the root: keep a copy", COPY), line("the root: send to every rank", SEND), line("everyone else: take it", RECV)],
    odd: ANY_P,
  },
  "broadcast/spread": {
    idea: "On one machine, with all ranks at work: rank q takes chunk q from the root and gives it to everyone. A GPU does both at once: it reads the chunk from the root's input and writes it into every output. Even the root gets its data back from the others, so that no rank has more to do than another.",
    code: [line("the root: offer every rank its chunk", SEND, DEALT), line("the root: keep a copy of its own chunk", COPY), line("everyone else: take my chunk from the root", RECV, DEALT), line("offer my chunk to everyone", SEND, AROUND), line("take the other chunks", RECV, AROUND)],
    odd: ANY_P,
  },
  "all_gather/ring": {
    idea: "Everyone passes its block to the next rank, then passes on what it has just got. After p − 1 rounds all blocks have been everywhere. Only neighbours talk.",
    code: [line("keep my own block", COPY), line("send it to the next rank", SEND), line("p − 2 times: take a block, keep it, pass it on", PASS), line("take the last one", RECV)],
    odd: ANY_P,
  },
  "all_gather/recursive_doubling": {
    idea: "Two ranks exchange what they have; then two pairs do; then two groups of four. What a rank knows doubles in every round.",
    code: [line("keep my own block", COPY), line("for each merge of two groups:"), line("  send all blocks of my group to a partner in the other", SEND), line("  take the partner's", RECV)],
    odd: HALVES,
  },
  "all_gather/bruck": {
    idea: "Like doubling, but around a circle: a rank with d blocks in a row gets the next d from the rank d ahead. The last round takes just what is missing, so any number of ranks needs log₂ p rounds, rounded up.",
    code: [line("keep my own block", COPY), line("for d = 1, 2, 4, … below p:"), line("  send my first blocks to the rank d behind", SEND), line("  take the next blocks from the rank d ahead", RECV)],
    odd: "This is the algorithm for numbers that are no power of two: its last round is only smaller. Blocks that wrap around go as a second message.",
  },
  "all_gather/neighbor_exchange": {
    idea: "Neighbours trade in both directions, so news comes from both sides and half as many rounds are enough as on a ring that flows one way.",
    code: [line("keep my own block", COPY), line("give a neighbour what is new to it", SEND), line("take a block, keep it, pass it on", PASS), line("take blocks", RECV)],
    odd: "With an odd number somebody would have no partner; then single blocks flow both ways around at once instead. Compare 5 and 6 ranks.",
  },
  "all_gather/direct": {
    idea: "Everyone sends its block to everyone at once. One round, where all ranks can talk to all.",
    code: [line("keep my own block", COPY), line("send it to every other rank", SEND), line("take every other rank's block", RECV)],
    odd: ANY_P,
  },
  "reduce_scatter/ring": {
    idea: "The sum of each block walks around the ring, collects a contribution at every rank, and ends at the rank that owns the block. It is the first half of the ring all-reduce.",
    code: [line("send a contribution to the next rank", SEND), line("p − 2 times: take a sum, add mine, pass it on", ADD_PASS), line("take the sum of my block and add mine", ADD)],
    odd: ANY_P,
  },
  "reduce_scatter/recursive_halving": {
    idea: "Split the ranks into halves. Give away what belongs to the other half, take and add what belongs to yours; then split again. The data halves every round.",
    code: [line("while my half has more than one rank:"), line("  send the other half's blocks to a rank there", SEND), line("  take my half's blocks and add them", ADD)],
    odd: HALVES,
  },
  "reduce_scatter/pairwise": {
    idea: "In round i everyone sends to the rank i ahead its contribution to that rank's block, and adds what comes from the rank i behind. All pairs meet once.",
    code: [line("for i = 1 … p − 1:"), line("  send the rank i ahead my contribution to its block", SEND), line("  take one from the rank i behind and add it", ADD)],
    odd: ANY_P,
  },
  "reduce_scatter/direct": {
    idea: "All contributions go straight to the owners of their blocks, all at once; then everyone adds up what has come, in the order of ranks.",
    code: [line("send every rank my contribution to its block", SEND), line("take all contributions to mine", RECV), line("start from my own contribution", COPY), line("add up in the order of ranks", REDUCE)],
    odd: ANY_P,
  },
  "reduce_scatter/pull": {
    idea: "On one machine the owner of a block reads the others' contributions where they lie and adds them one by one.",
    code: [line("offer my contributions to their owners", SEND), line("for every other rank: read its contribution to my block and add it", ADD)],
    odd: ANY_P,
  },
  "all_to_all/pairwise": {
    idea: "Everyone has a different block for everyone. In round i everyone sends to the rank i ahead and takes from the rank i behind, so that nobody is the target of two.",
    code: [line("keep my block for myself", COPY), line("for i = 1 … p − 1:"), line("  send the rank i ahead its block", SEND), line("  take mine from the rank i behind", RECV)],
    odd: ANY_P,
  },
  "all_to_all/bruck": {
    idea: "Post office: a block that must go 5 = 101₂ ranks ahead goes 4 ahead in one round and 1 in another, together with all others whose way has that digit. Few messages instead of p − 1; blocks travel several times. For small blocks.",
    code: [line("for each binary digit of the distance, the highest first:"), line("  pack the blocks that have it", COPY, INTO("scratch")), line("  send them that far ahead", SEND), line("  take those that come from as far behind", RECV), line("put arrived blocks into their places", COPY, INTO("output"))],
    odd: "Distances up to p − 1 have digits whatever p is; the highest digit is just rarer.",
  },
  "all_to_all/two_level": {
    idea: "Between servers a message carries a whole server's blocks, to the one rank there that deals them out inside. Fewer and larger messages on the slow network.",
    code: [line("across: send a server's blocks to my gateway there", SEND, ACROSS), line("take what I am gateway for", RECV, ACROSS), line("pack for each neighbour", COPY, INTO("scratch")), line("inside: send it to the neighbour", SEND, INSIDE), line("take what it has for me", RECV, INSIDE), line("put blocks into their places", COPY, INTO("output"))],
    odd: "A last server with fewer ranks deals its gateways' work out in turn.",
  },
  "all_to_all/direct": {
    idea: "Everyone sends everyone their block, all at once.",
    code: [line("keep my block for myself", COPY), line("send every rank its block", SEND), line("take mine from every rank", RECV)],
    odd: ANY_P,
  },
  "gather/direct": {
    idea: "Everyone sends its block to the root, which takes them as they come.",
    code: [line("the root: keep my own block", COPY), line("everyone else: send it to the root", SEND), line("the root: take it into its place", RECV)],
    odd: ANY_P,
  },
  "gather/binomial": {
    idea: "Blocks meet on their way: in every round half of those who hold blocks hand all of them to the other half. The root takes few messages, and larger ones.",
    code: [line("keep my own block", COPY), line("take the blocks of my children", RECV), line("send all to my parent", SEND)],
    odd: "Subtrees differ by one block.",
  },
  "scatter/direct": {
    idea: "The root sends every rank its block, all at once.",
    code: [line("the root: keep my own block", COPY), line("the root: send every rank its block", SEND), line("everyone else: take it", RECV)],
    odd: ANY_P,
  },
  "scatter/binomial": {
    idea: "The root gives half of the blocks to one rank of that half, which deals them out further, and goes on with its own half.",
    code: [line("take the blocks of my subtree", RECV), line("keep my own", COPY), line("send each child its part, the largest first", SEND)],
    odd: "Subtrees differ by one block.",
  },
  "barrier/dissemination": {
    idea: "A rumour: in round i everyone tells the rank 2ⁱ ahead of all whom it has heard of. After log₂ p rounds everyone has heard of everyone, and may go on.",
    code: [line("for d = 1, 2, 4, … below p:"), line("  tell the rank d ahead", SEND), line("  hear from the rank d behind", RECV)],
    odd: "It works for any number of ranks: the last round only tells some things twice, and hearing twice of somebody does no harm.",
  },
  "barrier/direct": {
    idea: "Everyone tells everyone that it is there.",
    code: [line("tell every other rank", SEND), line("hear from every other rank", RECV)],
    odd: ANY_P,
  },
  "send_recv/direct": {
    idea: "One message from one rank to another: what all collectives are made of. It costs α to start and β for each byte.",
    code: [line("the sender: send", SEND), line("the receiver: take", RECV)],
    odd: "Two ranks take part, however many there are.",
  },
};

const RINGS = "Rank numbers know nothing of cables. Here the library looks for rings along the links that are there, as many as have room beside each other, each way round, and gives each its share of the message. ";

for (const [collective, alike] of [["all_reduce", "ring"], ["all_gather", "ring"], ["reduce_scatter", "ring"], ["broadcast", "chain"], ["reduce", "chain"]]) {
  const lesson = LESSONS[`${collective}/${alike}`];
  LESSONS[`${collective}/rings`] = { ...lesson, idea: RINGS + lesson.idea, odd: "It needs no power of two, but a ring: where links join the ranks and no ring goes through all of them, it leaves the fast links, and trees are far better." };
}
