"""The same translator as a plain loop in PyTorch."""

import torch
from measuring import run_side
from torch import nn
from torch.nn import functional


class Decoder(nn.Module):
    """Bahdanau's or Luong's step in a loop over time."""

    def __init__(self, task):
        super().__init__()
        units = task.units
        self.attention = task.attention
        fed = task.attention != "luong_after"
        self.cell = nn.GRUCell(2 * units if fed else units, units)
        self.project = nn.Linear(units, units, bias=False)
        if task.attention == "bahdanau":
            self.query = nn.Linear(units, units, bias=False)
            self.direction = nn.Linear(units, 1, bias=False)
        else:
            self.join = nn.Linear(2 * units, units, bias=False)

    def context(self, scores, memory, mask):
        scores = scores.masked_fill(~mask, -1e30)
        return torch.bmm(functional.softmax(scores, -1)[:, None], memory)[:, 0]

    def forward(self, sequences, memory, mask):
        keys = self.project(memory)
        state = torch.zeros_like(sequences[:, 0])
        fed = torch.zeros_like(state)
        outputs = []
        for inputs in sequences.unbind(1):
            if self.attention == "bahdanau":
                hidden = torch.tanh(self.query(state)[:, None] + keys)
                scores = self.direction(hidden)[..., 0]
                context = self.context(scores, memory, mask)
                state = self.cell(torch.cat([inputs, context], -1), state)
                outputs.append(state)
                continue
            if self.attention == "luong":
                inputs = torch.cat([inputs, fed], -1)
            state = self.cell(inputs, state)
            scores = torch.bmm(keys, state[:, :, None])[..., 0]
            context = self.context(scores, memory, mask)
            fed = self.join(torch.cat([context, state], -1))
            outputs.append(fed)
        return torch.stack(outputs, 1)


class Model(nn.Module):
    def __init__(self, task):
        super().__init__()
        units, vocabulary = task.units, task.vocabulary
        self.source_embedding = nn.Embedding(vocabulary, units)
        self.target_embedding = nn.Embedding(vocabulary, units)
        self.encoder = nn.GRU(
            units, units, batch_first=True, bidirectional=True
        )
        self.decoder = Decoder(task)
        self.output = nn.Linear(units, vocabulary)

    def forward(self, source, target, mask):
        memory, _ = self.encoder(self.source_embedding(source))
        memory = sum(memory.chunk(2, -1))
        decoded = self.decoder(self.target_embedding(target), memory, mask)
        return self.output(decoded)


def make_training_step(task):
    model = Model(task)
    optimizer = torch.optim.Adam(model.parameters())

    def run(batch, length):
        source, target = torch.randint(4, task.vocabulary, (2, batch, length))
        mask = torch.ones((batch, length), dtype=torch.bool)
        optimizer.zero_grad()
        logits = model(source, target, mask)
        loss = functional.cross_entropy(logits.flatten(0, 1), target.flatten())
        loss.backward()
        optimizer.step()
        return loss.item()

    return run


def make_decoder_step(task):
    decoder = Decoder(task)

    def run(batch, length):
        sequences, memory = torch.randn(
            (2, batch, length, task.units), requires_grad=True
        )
        mask = torch.ones((batch, length), dtype=torch.bool)
        total = decoder(sequences, memory, mask).square().sum()
        torch.autograd.grad(total, [sequences, memory, *decoder.parameters()])

    return run


if __name__ == "__main__":
    run_side(training=make_training_step, decoder=make_decoder_step)
