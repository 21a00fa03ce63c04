// A few questions for each collective, and for algorithms that are worth one of their own. `right` is
// the place of the right answer.

const ask = (question, answers, right, why) => ({ question, answers, right, why });

// How many rounds the schedule that is shown takes: the answer is the library's, whatever it is.
function roundsQuestion(rounds, ranks) {
  const near = [ranks - 1, 2 * (ranks - 1), Math.ceil(Math.log2(ranks)), rounds + 1, rounds + 2, 1].filter((its) => its > 0);
  const answers = [...new Set([rounds, ...near])].slice(0, 3).sort((a, b) => a - b);
  return ask(`How many rounds of messages does this take with ${ranks} ranks?`, answers.map(String), answers.indexOf(rounds),
    "Go to the last round above and see.");
}

// Of an algorithm: its own, then its collective's; of the schedule that is shown, its rounds.
export function quizOf(collective, algorithm, rounds, ranks) {
  return [...(ranks > 1 && rounds > 0 ? [roundsQuestion(rounds, ranks)] : []), ...(OF_ALGORITHMS[`${collective}/${algorithm}`] ?? []), ...(QUIZZES[collective] ?? [])];
}

const OF_ALGORITHMS = {
  "all_reduce/ring": [ask("At the end of the first half of a ring, what does each rank hold?", ["One complete chunk", "All chunks, half complete", "Nothing new"], 0, "That half is a reduce-scatter: p complete chunks, one on each rank.")],
  "all_reduce/recursive_doubling": [ask("How much does a rank send in each round of recursive doubling?", ["The whole message", "Half of what it sent before", "One chunk"], 0, "Sums cover twice as many ranks in every round, but are as long as ever: log₂ p rounds, and each pays nβ.")],
  "all_reduce/rabenseifner": [ask("What is halved in Rabenseifner's first phase?", ["The ranks", "The data that a rank is responsible for", "The time"], 1, "Each rank hands half of its part away and adds up the other half, until everybody has one complete chunk.")],
  "all_reduce/double_tree": [ask("Why two trees?", ["One could fail", "A rank that is inside one is a leaf of the other, so all work alike", "To send twice as much"], 1, "In one tree the leaves are idle half of the time. Each tree has half of the message.")],
  "all_reduce/one_shot": [ask("Why does everyone add in the order of ranks?", ["It is faster", "So that all ranks get the same bits", "Memory is laid out so"], 1, "Adding floating-point numbers in another order gives other last digits.")],
  "all_reduce/two_level": [ask("What does two-level save?", ["Adding", "Bytes on the slow network", "Memory"], 1, "Sums are made inside the servers first; only these cross.")],
  "broadcast/chain": [ask("More pieces in a chain: what gets worse?", ["More messages pay α", "More bytes are sent", "The root works more than the others"], 0, "Each piece is a message. Too few, and ranks wait for each other; too many, and α counts.")],
  "broadcast/binomial": [ask("With a binomial tree, how many ranks know the message after 3 rounds?", ["4", "6", "8"], 2, "The number doubles: 1, 2, 4, 8.")],
  "broadcast/scatter_all_gather": [ask("The root of scatter and all-gather sends the message about how often?", ["Once", "log₂ p times", "p times"], 0, "It deals out different chunks; the ring multiplies them.")],
  "all_gather/bruck": [ask("Five ranks: what is special about Bruck's last round?", ["It is left out", "It takes only what is missing", "It is twice as long"], 1, "Four of five blocks are there after two rounds; the third brings the one that is missing.")],
  "all_to_all/bruck": [ask("Why would a block travel more than once, as in Bruck's algorithm?", ["To send fewer messages", "To send fewer bytes", "To keep an order"], 0, "Blocks that go part of the way together share one message, and one α.")],
  "reduce_scatter/recursive_halving": [ask("In recursive halving, how much does a rank send in the second round?", ["A quarter of the message", "Half of it", "All of it"], 0, "Half in the first round, then a quarter, then an eighth: (p − 1)/p of it in all.")],
};

const QUIZZES = {
  all_reduce: [
    ask("A message is only 8 bytes long. What matters most?", ["The number of rounds", "The bytes that are sent", "The speed of adding"], 0, "With next to no bytes each round costs α, the start of a message; so few rounds win."),
  ],
  reduce: [
    ask("Who has the result after a reduce?", ["Everyone", "The root", "Rank 0, always"], 1, "A reduce leaves the sum at the root; an all-reduce leaves it with everyone."),
    ask("Why cut the message into pieces in a chain?", ["To add more exactly", "So that all ranks work at the same time", "To send fewer messages"], 1, "While one piece is added at rank 3 the next one is at rank 2. More messages, but hardly anybody waits."),
  ],
  broadcast: [
    ask("Why is a tree slow for very long messages?", ["It has too many rounds", "The whole message is sent again in every round", "Trees need a power of two"], 1, "Each round costs nβ. A chain or a double tree sends it in pieces, once."),
  ],
  all_gather: [
    ask("At the end of an all-gather, how many blocks does each rank hold?", ["One", "Half of them", "All p"], 2, "Everyone ends with everyone's block."),
    ask("Ring and recursive doubling send the same number of bytes. When is the ring slower?", ["When messages are short", "When messages are long", "Never"], 0, "It has p − 1 rounds in place of log₂ p, and each costs α."),
  ],
  reduce_scatter: [
    ask("Reduce-scatter, then all-gather. What is it together?", ["An all-to-all", "An all-reduce", "A broadcast"], 1, "First everyone has one complete block, then everyone has all of them."),
  ],
  all_to_all: [
    ask("What does rank 2 get from rank 5 in an all-to-all?", ["Rank 5's whole input", "The block that rank 5 has for rank 2", "A sum"], 1, "It is a transposition: block (5, 2) goes from rank 5 to rank 2."),
  ],
  gather: [
    ask("In a direct gather, where is the bottleneck?", ["At the root's link", "At the last rank", "There is none"], 0, "All blocks enter through it; no algorithm can change that, only the number of messages."),
  ],
  scatter: [
    ask("How is a scatter different from a broadcast?", ["It goes to one rank", "Every rank gets another part", "It adds up"], 1, "A broadcast gives everyone the same, a scatter everyone their own."),
  ],
  barrier: [
    ask("What data does a barrier move?", ["None", "One number a rank", "A list of ranks"], 0, "Its messages are empty. That one has come is all it says."),
  ],
  send_recv: [
    ask("A message of n bytes takes α + nβ. What is the most that larger messages can win?", ["Nothing", "They pay α more rarely", "They pay a smaller β"], 1, "Ten messages of n/10 bytes pay α ten times."),
  ],
};
